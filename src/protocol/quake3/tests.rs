use std::net::SocketAddr;

use super::*;
use crate::offline::{Recording, recognise};
use crate::protocol::{GameEngine, Manner};
use crate::record::{Flags, Letter, Player, Status};
use crate::rng::{AddressHasher, mix};

const QUAKE: &Dialect = &DIALECTS[0];
const FIVEM: &Dialect = &DIALECTS[1];

/// Asks for `queries` at an address whose token is that of `ask_for`.
fn ask_for(queries: QuerySet) -> Ask<'static> {
    let address = SocketAddr::from(([192, 0, 2, 1], 27_960));
    Ask { queries, address, parameters: "", key: AddressHasher::new(5) }
}

fn all() -> Ask<'static> {
    ask_for(QuerySet::ALL)
}

fn message(text: &str) -> Vec<u8> {
    [a2s::HEADER, text.as_bytes()].concat()
}

/// An info that gives `challenge` back.
fn info(challenge: &[u8]) -> Vec<u8> {
    [&message("infoResponse\n\\hostname\\x\\challenge\\"), challenge, b"\\clients\\1"].concat()
}

fn request(session: Session, ask: &Ask<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    QUAKE.request(&session, ask, &mut out);
    out
}

fn receive(session: &mut Session, ask: &Ask<'_>, data: &[u8]) -> Result<Step, DecodeError> {
    QUAKE.receive(session, ask, data, &mut Found::default())
}

fn decode(answers: &[&str]) -> ServerRecord {
    let answers: Vec<Vec<u8>> = answers.iter().map(|text| message(text)).collect();
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let mut record = ServerRecord::new();
    QUAKE.decode(&answers, &all(), &mut record);
    record
}

fn status(lines: &str) -> ServerRecord {
    decode(&[&format!("statusResponse\n\\sv_hostname\\x\\sv_maxclients\\8\n{lines}")])
}

fn rules(record: &ServerRecord) -> Vec<(&str, &str)> {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    record.rules.iter().map(|(key, value)| (text(key), text(value))).collect()
}

#[test]
fn requests_are_what_the_strictest_servers_answer() {
    let ask = all();
    let mut session = Session::default();
    let asked = request(session, &ask);
    let token = asked.strip_prefix(b"\xFF\xFF\xFF\xFFgetinfo ").unwrap();
    assert!(token.len() == 8 && token.iter().all(u8::is_ascii_alphanumeric), "{token:?}");
    assert_ne!(request(session, &Ask { key: AddressHasher::new(6), ..ask }), asked, "the token is the run's own");
    assert_eq!(receive(&mut session, &ask, &info(token)), Ok(Step::Answer(Next::Send)));
    assert_eq!(request(session, &ask), b"\xFF\xFF\xFF\xFFgetstatus", "without a NUL or the end of a line");
    let gap = Duration::from_millis(1_100);
    assert_eq!(QUAKE.pace(), Pace { server: gap, host: gap });
}

#[test]
fn an_info_with_another_token_is_not_ours() {
    let ask = all();
    let ours = token(&ask);
    let ours = ours.as_bytes();
    let step = |data: &[u8]| receive(&mut Session::default(), &ask, data).unwrap();
    for sound in [ours, &[ours, b"\0"].concat(), &ours[..3], b""] {
        assert_eq!(step(&info(sound)), Step::Answer(Next::Send), "{sound:?}");
    }
    assert_eq!(step(&message("infoResponse\n\\hostname\\x")), Step::Answer(Next::Send), "no token at all");
    let mut other = ours.to_vec();
    other[7] ^= 1;
    for foreign in [&other, &b"xxx"[..], &[ours, b"0"].concat()] {
        assert_eq!(step(&info(foreign)), Step::Ignore(Ignored::Spoofed), "{foreign:?}");
    }
}

#[test]
fn one_status_answers_for_players_and_rules_and_one_info_for_the_ping() {
    let ask = all();
    let mut session = Session::default();
    let came = message("statusResponse\n\\a\\1\n");
    assert_eq!(QUAKE.asking(&session, &ask), QuerySet::of(Query::Info).with(Query::Ping));
    assert_eq!(receive(&mut session, &ask, &info(b"")), Ok(Step::Answer(Next::Send)));
    assert_eq!(receive(&mut session, &ask, &info(b"")), Ok(Step::Ignore(Ignored::Duplicate)));
    assert_eq!(QUAKE.asking(&session, &ask), QuerySet::of(Query::Players).with(Query::Rules));
    assert_eq!(receive(&mut session, &ask, &came), Ok(Step::Answer(Next::Finish)));

    let players = ask_for(QuerySet::of(Query::Players));
    let mut session = Session::default();
    assert_eq!(QUAKE.asking(&session, &players), QuerySet::of(Query::Players));
    assert_eq!(receive(&mut session, &players, &info(b"")), Ok(Step::Ignore(Ignored::Unsolicited)));
    assert_eq!(receive(&mut session, &players, &came), Ok(Step::Answer(Next::Finish)));

    let ping = ask_for(QuerySet::of(Query::Ping));
    assert!(request(Session::default(), &ping).starts_with(b"\xFF\xFF\xFF\xFFgetinfo "));
    assert_eq!(receive(&mut Session::default(), &ping, &info(b"")), Ok(Step::Answer(Next::Finish)));
}

#[test]
fn a_silent_info_leaves_one_try_for_the_status() {
    let ask = all();
    let mut session = Session::default();
    assert_eq!(QUAKE.silence(&mut session, &ask), Next::SendOnce);
    assert_eq!(request(session, &ask), b"\xFF\xFF\xFF\xFFgetstatus");
    assert_eq!(receive(&mut session, &ask, &info(b"")), Ok(Step::Answer(Next::Stay)), "it is late and kept");
    assert_eq!(QUAKE.silence(&mut session, &ask), Next::Finish);
    let mut session = Session::default();
    assert_eq!(QUAKE.silence(&mut session, &ask_for(QuerySet::of(Query::Info))), Next::Finish);
}

#[test]
fn what_is_no_response_is_an_error_and_says_where() {
    let error = |data: &[u8]| receive(&mut Session::default(), &all(), data).unwrap_err();
    assert_eq!(error(&[0; 64]), DecodeError::new(Problem::Header, 0));
    for (text, problem, at) in [
        ("infoResponses\n\\a\\1", Problem::Type, 4),
        ("getinfo xxx", Problem::Type, 4),
        ("disconnect", Problem::Type, 4),
        ("infoResponse\n", Problem::Cut, 17),
        ("statusResponse\nnothing", Problem::Value, 19),
    ] {
        assert_eq!(error(&message(text)), DecodeError::new(problem, at), "{text}");
    }
    let ban = receive(&mut Session::default(), &all(), &message("print\nYou are banned from this server.\n"));
    assert_eq!(ban, Ok(Step::Answer(Next::Fail(Status::Banned))));
    let other = receive(&mut Session::default(), &all(), &message("print\nServer is full\n"));
    assert_eq!(other, Ok(Step::Ignore(Ignored::Unsolicited)));
    let record = decode(&["print\nYou are banned from this server.\n"]);
    assert_eq!(record.error.as_str(), Some("You are banned from this server."));
}

#[test]
fn player_lines_of_every_kind_are_read() {
    for (line, name, score, ping_ms) in [
        ("3 48 \"Sarge\"", "Sarge", Some(3), Some(48)),
        ("-9999 0 \"\"", "", Some(-9999), Some(0)),
        ("0 -1 \"a \"b\" c\"", "a \"b\" c", Some(0), Some(-1)),
        ("1 34 \"two \"quotes\"\" 2", "two \"quotes\"", Some(1), Some(34)),
        ("1 34 2 \"team before\"", "team before", Some(1), Some(34)),
        ("7 0 \"^1Visor 🌍\" [bot]", "^1Visor 🌍", Some(7), Some(0)),
        ("  5  6   \"blanks\"  ", "blanks", Some(5), Some(6)),
        ("\"nothing but a name\"", "nothing but a name", None, None),
        ("5 \"one number\"", "one number", Some(5), None),
        ("99999999999 4 \"too large\"", "too large", None, None),
        ("4 5 no quotes", "no quotes", Some(4), Some(5)),
        ("\\name\\of pairs\\score\\-2\\ping\\61", "of pairs", Some(-2), Some(61)),
    ] {
        let record = status(&format!("1 2 \"before\"\n{line}\r\n1 2 \"after\"\n"));
        let all: Vec<_> = record.player_list.iter().collect();
        let expected = Player { name: name.as_bytes(), score, ping_ms, ..Player::default() };
        assert_eq!(all.len(), 3, "{line}");
        assert_eq!((all[1], record.flags), (expected, Flags::NONE), "{line}");
        assert_eq!((record.players, record.bots), (Some(3), line.contains("[bot]").then_some(1)), "{line}");
    }
}

#[test]
fn lines_that_end_early_and_lines_of_nothing_are_flagged() {
    let cut = status("1 2 \"whole\"\n3 4 \"cut of");
    let names: Vec<_> = cut.player_list.iter().map(|player| player.name).collect();
    assert_eq!((names, cut.flags), (vec![&b"whole"[..], b"cut of"], Flags::TRUNCATED));
    let odd = status("what is this\n\n   \n1 2 \"x\"\n");
    assert_eq!((odd.player_list.len(), odd.flags), (1, Flags::TRAILING_BYTES));
    let key = decode(&["infoResponse\n\\hostname\\x\\mapname"]);
    assert_eq!((key.name.as_str(), key.map.as_str(), key.flags), (Some("x"), None, Flags::MALFORMED));
    for end in ["\\", "\n", "\0", "\n\0\0"] {
        let record = decode(&[&format!("infoResponse\n\\hostname\\x\\mapname\\y{end}")]);
        assert_eq!((record.map.as_str(), record.flags), (Some("y"), Flags::NONE), "{end:?}");
    }
}

#[test]
fn variables_behind_the_players_are_variables_and_keys_have_a_case() {
    let record = decode(&[
        "statusResponse\n\\sv_maxclients\\24\\clients\\2\n0 0 \"a\"\n0 0 \"b\"\n\\gamename\\gta5\\sv_maxClients\\32\
         \\tags\\default, roleplay\\version\\FXServer-master SERVER v1.0.0.12345 linux",
    ]);
    let expected = [
        ("sv_maxclients", "24"),
        ("clients", "2"),
        ("gamename", "gta5"),
        ("sv_maxClients", "32"),
        ("tags", "default, roleplay"),
        ("version", "FXServer-master SERVER v1.0.0.12345 linux"),
    ];
    assert_eq!((rules(&record), record.player_list.len()), (expected.to_vec(), 2));
    assert_eq!((record.max_players, record.max_players_best), (Some(24), Some(24)));
    assert_eq!((record.keywords.as_str(), record.os), (Some("default, roleplay"), Some(Letter::Known("linux"))));
    assert_eq!(status("\\sv_maxClients\\32").max_players, Some(8));
    assert_eq!(decode(&["statusResponse\n\\sv_maxClients\\32\n"]).max_players, Some(32));
}

#[test]
fn a_backslash_in_the_name_of_a_fivem_server_shifts_nothing() {
    let info = |name| {
        decode(&[&format!(
            "infoResponse\n\\sv_maxclients\\48\\clients\\0\\challenge\\xxx\\gamename\\CitizenFX\\protocol\\4\\hostname\\{name}\
             \\gametype\\Freeroam\\mapname\\San Andreas\\iv\\1"
        )])
    };
    for name in ["Back\\slash host", "a\\b\\c", "\\", "a\\", "ends\\here\\", "\\\\\\"] {
        let record = info(name);
        assert_eq!((record.name.as_str(), record.map.as_str()), (Some(name), Some("San Andreas")), "{name}");
        assert_eq!(record.flags, Flags::MALFORMED, "{name}");
    }
    assert_eq!(info("no backslash").flags, Flags::NONE);

    let behind = |name, game| {
        decode(&[&format!(
            "statusResponse\n\\clients\\0\n\\gamename\\{game}\\sv_hostname\\{name}\\sv_lan\\false\\tags\\t\\version\\v"
        )])
    };
    let record = behind("Back\\slash host", "gta5");
    assert_eq!((record.name.as_str(), record.version.as_str()), (Some("Back\\slash host"), Some("v")));
    assert_eq!((record.flags, record.rules.len()), (Flags::MALFORMED, 6));
    // What follows may be a variable that nobody here knows; and other games have no backslashes in names.
    let record = behind("Back\\slash\\host", "gta5");
    assert_eq!((record.name.as_str(), rules(&record)[3], record.flags), (Some("Back"), ("slash", "host"), Flags::NONE));
    let record = behind("x\\sv", "other");
    assert_eq!((record.name.as_str(), rules(&record)[3]), (Some("x"), ("sv", "sv_lan")));
}

#[test]
fn colours_are_taken_out_of_the_name_and_left_everywhere_else() {
    for (sent, shown) in [
        ("^1Real ^7OpenArena", "Real OpenArena"),
        ("^xF80Orange^xfff", "Orange"),
        ("^_^ ^x12 ^xyz ^b", "^_^ ^x12 ^xyz ^b"),
        ("^^1", "^"),
        ("^", "^"),
        ("^0^9", ""),
    ] {
        let record = decode(&[&format!("statusResponse\n\\sv_hostname\\{sent}\\mapname\\^1m\n0 0 \"^1p\"\n")]);
        let raw = (sent != shown).then_some(sent.as_bytes());
        assert_eq!((record.name.as_str(), record.name.original()), (Some(shown), raw));
        assert_eq!((rules(&record)[0].1, record.map.as_str()), (sent, Some("^1m")));
        assert_eq!(record.player_list.iter().next().unwrap().name, b"^1p");
    }
}

#[test]
fn counts_come_from_where_they_are_known_best() {
    let counts = |answers: &[&str]| {
        let record = decode(answers);
        (record.players, record.bots, record.players_best, record.players_basis)
    };
    let info = "infoResponse\n\\clients\\3\\g_humanplayers\\1";
    let two = "statusResponse\n\\a\\1\n0 0 \"a\"\n0 0 \"b\"\n";
    assert_eq!(counts(&[info]), (Some(3), Some(2), Some(3), Some("reported")));
    assert_eq!(counts(&[info, two]), (Some(3), Some(2), Some(2), Some("player_list")));
    assert_eq!(counts(&[two]), (Some(2), None, Some(2), Some("player_list")), "a ping of 0 is no bot");
    assert_eq!(counts(&["infoResponse\n\\clients\\19\\humans\\17"]).1, Some(2));
    assert_eq!(counts(&["infoResponse\n\\clients\\1\\humans\\2"]).1, None);
    assert_eq!(counts(&["infoResponse\n\\clients\\5\\bots\\2\\humans\\5"]).1, Some(2));
    let hidden = "statusResponse\n\\clients\\18\n0 0 \"a\"\n";
    assert_eq!(counts(&[hidden]), (Some(18), None, Some(18), Some("reported")));
    assert_eq!(counts(&["infoResponse\n\\clients\\many"]), (None, None, None, None));
}

#[test]
fn the_info_wins_and_the_status_fills_in() {
    let info = "infoResponse\n\\gamename\\Quake3Arena\\hostname\\info\\protocol\\71\\game\\cpma\\g_needpass\\1";
    let status = "statusResponse\n\\gamename\\baseoa\\com_gamename\\Quake3Arena\\sv_hostname\\status\\com_protocol\\70\
                  \\mapname\\m\\version\\Q3 1.32c win-x86 May  8 2006\n";
    for answers in [[info, status], [status, info]] {
        let record = decode(&answers);
        let texts = [&record.name, &record.game, &record.folder, &record.map].map(|text| text.as_str().unwrap());
        assert_eq!(texts, ["info", "Quake3Arena", "cpma", "m"]);
        assert_eq!((record.protocol_version, record.password), (Some(71), Some(true)));
        assert_eq!(record.os, Some(Letter::Known("windows")));
    }
    let alone = decode(&[status]);
    assert_eq!((alone.name.as_str(), alone.game.as_str()), (Some("status"), Some("Quake3Arena")));
    assert_eq!((alone.protocol_version, alone.password), (Some(70), None));
    assert_eq!(alone.query(Query::Info), QueryStatus::NotAsked, "it was not this that said so");
    for (version, system) in [
        ("ioq3 1.36 macosx-x86_64", Some("macos")),
        ("CoD4 X 1.7a win_mingw-x86-testing", Some("windows")),
        ("2.01 x86_64 Dec 19 2015 Linux", Some("linux")),
        ("darwinia winner 1.0", None),
    ] {
        let record = decode(&[&format!("statusResponse\n\\version\\{version}\n")]);
        assert_eq!(record.os, system.map(Letter::Known), "{version}");
    }
}

#[test]
fn lists_are_kept_as_they_are_wanted() {
    let answer = message("statusResponse\n\\a\\1\n0 0 \"x\"\n");
    for (wanted, players, rules) in [(Query::Players, 1, 0), (Query::Rules, 0, 1), (Query::Info, 0, 0)] {
        let mut record = ServerRecord::new();
        QUAKE.decode(&[&answer], &ask_for(QuerySet::of(wanted)), &mut record);
        assert_eq!((record.player_list.len(), record.rules.len()), (players, rules));
        assert_eq!((record.player_list.is_present(), record.rules.is_present()), (players > 0, rules > 0));
    }
}

#[test]
fn either_dialect_reads_the_servers_of_the_other() {
    for index in 0..200 {
        let persona = Persona {
            seed: mix(u64::from(index)),
            index,
            port: 27_960,
            challenge: None,
            manner: Manner::Sound,
            engine: GameEngine::Source,
            split: index % 3 == 0,
            bzip2: false,
            alone: false,
        };
        for server in [QUAKE, FIVEM] {
            let mut replies = Replies::default();
            server.serve(&persona, &request(Session::default(), &all()), &mut replies);
            server.serve(&persona, b"\xFF\xFF\xFF\xFFgetstatus", &mut replies);
            let answers: Vec<&[u8]> = replies.iter().collect();
            let records = [QUAKE, FIVEM].map(|reader| {
                let mut record = ServerRecord::new();
                reader.decode(&answers, &all(), &mut record);
                record
            });
            assert_eq!(records[0], records[1]);
            let record = &records[0];
            assert_eq!(
                (record.players, record.max_players),
                (Some(persona.players().into()), Some(persona.max_players().into()))
            );
            assert_eq!((record.map.as_str(), record.flags), (Some(persona.map()), Flags::NONE));
            if server.spec.name == "quake3" {
                assert_eq!((record.bots, record.password), (Some(persona.bots().into()), Some(persona.password())));
            }
        }
    }
}

#[test]
fn a_recorded_server_answers_with_the_token_of_whoever_asks() {
    let recorded = [
        &b"\xFF\xFF\xFF\xFFinfoResponse\n\\clients\\1\\challenge\\xxx\0\\gamename\\CitizenFX\\hostname\\a\\b\\iv\\1"[..],
        b"\xFF\xFF\xFF\xFFstatusResponse\n\\challenge\\xxx\n",
    ];
    let replay = |request: &[u8]| {
        let mut replies = Replies::default();
        FIVEM.replay(request, &recorded, &mut replies);
        replies.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let with_token = b"\xFF\xFF\xFF\xFFinfoResponse\n\\clients\\1\\challenge\\0123abcd\0\\gamename\\CitizenFX\\hostname\\a\\b\\iv\\1";
    assert_eq!(replay(b"\xFF\xFF\xFF\xFFgetinfo 0123abcd"), [with_token]);
    assert_eq!(replay(b"\xFF\xFF\xFF\xFFgetinfo"), [recorded[0]]);
    assert_eq!(replay(b"\xFF\xFF\xFF\xFFgetstatus"), [recorded[1]]);
    assert_eq!(replay(b"\xFF\xFF\xFF\xFFT"), [[0_u8; 0]; 0]);
    let replies = vec![recorded[0].to_vec()];
    assert_eq!(recognise(&Recording { replies, ..Recording::default() }).spec().name, "quake3", "whoever asked");
}

#[test]
fn a_dissection_names_every_part() {
    let fields = |data: &[u8]| {
        let mut notes = Dissection::default();
        let result = QUAKE.dissect(data, &[], &mut notes);
        assert_eq!(result, Ok(()));
        let fields = notes.fields.iter().map(|field| (field.name.clone(), field.value.clone()));
        (notes.title, fields.collect::<Vec<_>>())
    };
    let strings = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let (title, found) = fields(b"\xFF\xFF\xFF\xFFstatusResponse\n\\a\\1\n5 40 2 \"x \"y\"\" [bot]\n\\b\\\n");
    let expected = [
        ("header", "ffffffff"),
        ("command", "statusResponse"),
        ("variable 0 key", "a"),
        ("variable 0 value", "1"),
        ("player 0 score", "5"),
        ("player 0 ping", "40"),
        ("player 0 name", "x \"y\""),
        ("player 0 rest", " [bot]"),
        ("variable 1 key", "b"),
        ("variable 1 value", ""),
    ];
    assert_eq!((title, found), ("players and rules", strings(&expected)));
    let (title, found) = fields(b"\xFF\xFF\xFF\xFFgetinfo xxx");
    let expected = [("header", "ffffffff"), ("command", "getinfo"), ("challenge", "xxx")];
    assert_eq!((title, found), ("request for info", strings(&expected)));
}
