//! `fragscan completions` and `fragscan man`: made from the same declarations as the command line itself.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;

use super::print;
use crate::cli::{Args, CompletionsArgs};
use crate::error::Error;

/// Prints the completion script of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "fragscan", &mut script);
    print(|out| out.write_all(&script))
}

/// Prints the man page: the program's, then that of each subcommand.
pub(super) fn man() -> Result<ExitCode, Error> {
    let command = Args::command();
    print(|out| {
        Man::new(command.clone()).render(out)?;
        for subcommand in command.get_subcommands() {
            // The page is one; each subcommand adds its own description and options to it.
            let name = format!("fragscan {}", subcommand.get_name());
            let page = Man::new(subcommand.clone().display_name(name.clone()).bin_name(name));
            page.render_synopsis_section(out)?;
            page.render_description_section(out)?;
            page.render_options_section(out)?;
        }
        Ok(())
    })
}
