//! The arguments of `fragscan decode`.

use std::path::PathBuf;

use super::protocol::server_protocol;
use super::{scan, value};
use crate::cli::DecodeArgs;
use crate::error::Error;
use crate::output::Format;
use crate::output::dissection::Style;
use crate::protocol::{self, AnyProtocol};
use crate::record::{QuerySet, Selection};

/// What `fragscan decode` does.
pub struct DecodeConfig {
    /// Files of datagrams; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// What is made of them.
    pub form: Form,
    /// The protocol of all servers, if it was named.
    pub protocol: Option<AnyProtocol>,
}

/// What is made of datagrams.
pub enum Form {
    /// Each is taken apart, for a person.
    Dissection(Style),
    /// One row a server.
    Rows {
        /// As what.
        format: Format,
        /// What of each record, if it was chosen.
        selection: Option<Selection>,
        /// What the servers were asked, if it was said.
        queries: Option<QuerySet>,
    },
}

/// Reads the arguments of `fragscan decode`.
pub fn decode(args: DecodeArgs) -> Result<DecodeConfig, Error> {
    let rows = |format| {
        Ok::<_, Error>(Form::Rows {
            format,
            selection: scan::selection(&args.fields, &[format])?,
            queries: args.queries.as_deref().map(|text| value::parse("--queries", text)).transpose()?,
        })
    };
    let form = match args.format.as_str() {
        "table" => Form::Dissection(Style::Table),
        "markdown" => Form::Dissection(Style::Markdown),
        "ndjson" | "jsonl" | "json" => rows(Format::Ndjson)?,
        "csv" => rows(Format::Csv)?,
        other => {
            let message = format!("--format: {other:?} is no format: write table, markdown, ndjson or csv");
            return Err(Error::usage(message));
        }
    };
    if matches!(form, Form::Dissection(_)) && (args.queries.is_some() || !args.fields.is_empty()) {
        return Err(Error::usage("--queries and --fields are for rows: say --format ndjson or csv"));
    }
    // Lists make no rows.
    let of_lists = protocol::of_lists().filter(|_| matches!(form, Form::Dissection(_)));
    let by_name = |name: &String| {
        let list = of_lists.into_iter().find(|list| list.is_called(name));
        let protocol = list.map_or_else(|| server_protocol(name), Ok);
        protocol.map_err(|reason| Error::usage(format!("--protocol: {reason}")))
    };
    let protocol = args.protocol.as_ref().map(by_name).transpose()?;
    Ok(DecodeConfig { protocol, files: args.files, form })
}
