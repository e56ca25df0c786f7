use super::*;
use crate::record::{Letter, Player};

const TOKEN_REPLY: &[u8] = b"-1868107047\0";
const BASIC: &[u8] = b"A Minecraft Server\0SMP\0world\x002\x0020\0\xDD\x63127.0.0.1\0";
const KEYS: &[u8] = b"hostname\0A\0gametype\0SMP\0game_id\0MINECRAFT\0version\x001.8\0plugins\0\0map\0world\0\
    numplayers\x002\0maxplayers\x0020\0hostport\x0025565\0hostip\x00192.0.2.1\0\0\x01player_\0\0Ann\0Bob_\0\0";

fn dialect(name: &str) -> &'static Dialect {
    DIALECTS.iter().find(|dialect| dialect.spec.name == name).unwrap()
}

fn ask(queries: QuerySet) -> Ask<'static> {
    Ask { queries, address: "192.0.2.9:25565".parse().unwrap(), ..Ask::offline() }
}

fn everything() -> QuerySet {
    dialect("minecraft").queries()
}

/// A reply to `ask`.
fn reply(kind: u8, ask: &Ask<'_>, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &session_id(ask), body].concat()
}

/// A conversation.
struct Talk {
    dialect: &'static Dialect,
    ask: Ask<'static>,
    session: Session,
}

impl Talk {
    fn new(name: &str, queries: QuerySet) -> Self {
        Self { dialect: dialect(name), ask: ask(queries), session: Session::default() }
    }

    /// What is asked, after the session.
    fn asks(&self) -> Vec<u8> {
        let mut request = Vec::new();
        self.dialect.request(&self.session, &self.ask, &mut request);
        assert_eq!((&request[..2], &request[3..7]), (REQUEST, &session_id(&self.ask)[..]));
        assert_eq!(request[2], if request.len() == 7 { HANDSHAKE } else { STAT });
        request[7..].to_vec()
    }

    fn hears(&mut self, kind: u8, body: &[u8]) -> Result<Step, DecodeError> {
        let reply = reply(kind, &self.ask, body);
        self.dialect.receive(&mut self.session, &self.ask, &reply, &mut Found::default())
    }

    fn waits(&mut self) -> Next {
        self.dialect.silence(&mut self.session, &self.ask)
    }
}

fn decode(name: &str, bodies: &[&[u8]], queries: QuerySet) -> ServerRecord {
    let ask = ask(queries);
    let replies: Vec<Vec<u8>> = bodies.iter().map(|body| reply(STAT, &ask, body)).collect();
    let replies: Vec<&[u8]> = replies.iter().map(Vec::as_slice).collect();
    let mut record = ServerRecord::new();
    dialect(name).decode(&replies, &ask, &mut record);
    record
}

fn minecraft(body: &[u8]) -> ServerRecord {
    decode("minecraft", &[body], everything())
}

/// A full stat with the padding that most servers send.
fn full(keys: &[u8]) -> Vec<u8> {
    [b"splitnum\0\x80\0", keys].concat()
}

fn names(record: &ServerRecord) -> Vec<&[u8]> {
    record.player_list.iter().map(|player| player.name).collect()
}

fn rules(record: &ServerRecord) -> Vec<(&[u8], &[u8])> {
    record.rules.iter().collect()
}

#[test]
fn info_alone_is_asked_with_the_basic_stat_and_lists_with_the_full_one() {
    let info = QuerySet::of(Query::Info);
    for (name, queries, padding) in [
        ("minecraft", info, &b""[..]),
        ("minecraft", info.with(Query::Rules), b"\0\0\0\0"),
        ("minecraft", QuerySet::of(Query::Players), b"\0\0\0\0"),
        ("ut3", info, b"\xFF\xFF\xFF\x01"),
        ("justcause2", everything(), b"\xFF\xFF\xFF\x02"),
    ] {
        let mut talk = Talk::new(name, queries);
        assert_eq!(talk.asks(), b"");
        assert_eq!(talk.hears(HANDSHAKE, TOKEN_REPLY), Ok(Step::Move(Next::Send)));
        // -1868107047 in two's complement.
        assert_eq!(talk.asks(), [b"\x90\xA6\xF2\xD9", padding].concat(), "{name}");
        assert_eq!(talk.hears(HANDSHAKE, TOKEN_REPLY), Ok(Step::Ignore(Ignored::Duplicate)));
    }
}

#[test]
fn a_token_is_a_number_of_any_kind_and_nothing_else() {
    for (text, sent) in [
        (&b"0\0"[..], Some([0, 0, 0, 0])),
        (b"9513307\0", Some([0x00, 0x91, 0x29, 0x5B])),
        (b" -1 \0", Some([0xFF; 4])),
        (b"4294967295\0", Some([0xFF; 4])),
        (b"570350778", Some([0x21, 0xFE, 0xDC, 0xBA])),
        (b"", None),
        (b"\0", None),
        (b"ten\0", None),
        (b"1\0more", None),
    ] {
        let mut talk = Talk::new("minecraft", QuerySet::of(Query::Info));
        assert_eq!(talk.hears(HANDSHAKE, text).is_ok(), sent.is_some(), "{text:?}");
        assert_eq!(talk.asks(), sent.map_or(vec![], Vec::from), "{text:?}");
    }
}

#[test]
fn a_reply_of_another_session_is_spoofed() {
    let ask = ask(everything());
    assert!(session_id(&ask).iter().all(|byte| byte & 0xF0 == 0), "servers keep the low bits only");
    for (kind, body) in [(HANDSHAKE, b"5\0".to_vec()), (STAT, BASIC.to_vec()), (STAT, full(KEYS))] {
        let mut spoofed = reply(kind, &ask, &body);
        spoofed[4] ^= 1;
        let step = dialect("minecraft").receive(&mut Session::default(), &ask, &spoofed, &mut Found::default());
        assert_eq!(step, Ok(Step::Ignore(Ignored::Spoofed)));
    }
}

#[test]
fn a_full_stat_answers_everything() {
    let mut talk = Talk::new("minecraft", everything());
    talk.hears(HANDSHAKE, TOKEN_REPLY).unwrap();
    assert_eq!(talk.hears(STAT, &full(KEYS)), Ok(Step::Answer(Next::Finish)));
    assert_eq!(talk.hears(STAT, &full(KEYS)), Ok(Step::Ignore(Ignored::Duplicate)));
}

#[test]
fn info_is_saved_when_the_full_stat_stays_unanswered() {
    let mut talk = Talk::new("minecraft", everything());
    talk.hears(HANDSHAKE, b"1\0").unwrap();
    assert_eq!((talk.asks().len(), talk.waits()), (8, Next::Send));
    assert_eq!(talk.asks(), b"", "the token may have run out");
    talk.hears(HANDSHAKE, b"2\0").unwrap();
    assert_eq!(talk.asks(), b"\0\0\0\x02", "the basic stat");
    assert_eq!(talk.hears(STAT, BASIC), Ok(Step::Answer(Next::SendOnce)));
    assert_eq!(talk.asks(), b"\0\0\0\x02\0\0\0\0", "the full stat once more, with the new token");
    assert_eq!([talk.waits(), talk.waits()], [Next::Skip(Status::Timeout); 2], "players and rules");
    assert_eq!(talk.waits(), Next::Finish);
}

#[test]
fn a_basic_stat_in_answer_to_a_request_for_the_full_one_is_all_there_is() {
    let mut talk = Talk::new("minecraft", everything());
    talk.hears(HANDSHAKE, b"1\0").unwrap();
    assert_eq!(talk.hears(STAT, BASIC), Ok(Step::Answer(Next::Skip(Status::Timeout))));
    assert_eq!(talk.session.progress.asking(everything()), Query::Players);
    assert_eq!(
        [talk.waits(), talk.waits(), talk.waits()],
        [Next::Skip(Status::Timeout), Next::Skip(Status::Timeout), Next::Finish]
    );
    let mut talk = Talk::new("minecraft", QuerySet::of(Query::Rules));
    talk.hears(HANDSHAKE, b"1\0").unwrap();
    assert_eq!(talk.hears(STAT, BASIC), Ok(Step::Ignore(Ignored::Unsolicited)));
}

#[test]
fn a_server_that_gives_tokens_only_is_told_from_one_that_gives_nothing() {
    let mut silent = Talk::new("minecraft", everything());
    assert_eq!(silent.waits(), Next::Finish);
    for odd in [false, true] {
        let mut talk = Talk::new("minecraft", everything());
        talk.hears(HANDSHAKE, b"1\0").unwrap();
        assert_eq!(talk.waits(), Next::Send);
        talk.hears(HANDSHAKE, b"1\0").unwrap();
        if odd {
            talk.hears(STAT, b"nonsense").unwrap_err();
        } else {
            assert_eq!(talk.waits(), Next::Skip(Status::ChallengeOnly));
        }
        assert_eq!(talk.waits(), Next::Finish);
    }
    let mut talk = Talk::new("minecraft", everything());
    let steps: Vec<_> = (0..5).map(|token| talk.hears(HANDSHAKE, format!("{token}\0").as_bytes()).unwrap()).collect();
    assert_eq!(steps[..4], [Step::Move(Next::Send); 4]);
    assert_eq!(steps[4], Step::Move(Next::Fail(Status::ChallengeLoop)));
}

#[test]
fn a_basic_stat_is_read_whatever_its_port_and_its_name() {
    let ports: [(&[u8], Option<u16>); 3] = [(b"\xDD\x63", Some(25_565)), (b"25565\0", Some(25_565)), (b"\0\0", None)];
    let names: [&[u8]; 4] = [b"A Minecraft Server", b"", b"\0*K", b"map"];
    for (port, expected) in ports {
        for name in names {
            let body = [name, b"\0SMP\0world\x002\x0020\0", port, b"127.0.0.1\0"].concat();
            let record = decode("minecraft", &[&body], QuerySet::of(Query::Info));
            assert_eq!(record.name.original().unwrap_or(record.name.as_str().unwrap().as_bytes()), name);
            assert_eq!((record.game.as_str(), record.map.as_str()), (Some("SMP"), Some("world")));
            assert_eq!((record.players, record.max_players, record.game_port), (Some(2), Some(20), expected));
            assert_eq!((record.players_best, record.players_basis), (Some(2), Some("reported")));
            assert_eq!(record.query(Query::Info), QueryStatus::Ok);
            assert_eq!(record.flags, if name.contains(&0) { Flags::CONTROL_CHARS } else { Flags::NONE });
        }
    }
}

#[test]
fn a_full_stat_is_read_behind_any_padding() {
    for padding in [&b"splitnum\0\x80\0"[..], b"GeyserMC\0\x80\0", &[0; 11], b"", &[0; 4], b"sixteen bytes..."] {
        let record = minecraft(&[padding, KEYS].concat());
        assert_eq!((record.name.as_str(), record.version.as_str()), (Some("A"), Some("1.8")), "{padding:?}");
        assert_eq!((record.players, record.max_players, record.game_port), (Some(2), Some(20), Some(25_565)));
        assert_eq!((names(&record), record.rules.len()), (vec![&b"Ann"[..], b"Bob_"], 10));
        assert_eq!((rules(&record)[9], record.flags), ((&b"hostip"[..], &b"192.0.2.1"[..]), Flags::NONE));
        assert!([Query::Info, Query::Players, Query::Rules].iter().all(|q| record.query(*q) == QueryStatus::Ok));
    }
    let zeros = reply(STAT, &ask(everything()), &[0; 59]);
    assert!(dialect("minecraft").read(&zeros).is_err(), "zeros are no stat");
}

#[test]
fn only_the_lists_that_were_asked_for_are_kept() {
    let record = decode("minecraft", &[&full(KEYS)], QuerySet::of(Query::Players));
    assert_eq!((record.player_list.len(), record.rules.is_present()), (2, false));
    assert_eq!((record.query(Query::Info), record.query(Query::Rules)), (QueryStatus::NotAsked, QueryStatus::NotAsked));
    let record = decode("minecraft", &[&full(KEYS)], QuerySet::of(Query::Rules));
    assert_eq!((record.rules.len(), record.player_list.is_present()), (10, false));
}

#[test]
fn a_zero_in_the_name_does_not_move_the_keys_behind_it() {
    for name in [&b"\0*K\xD5"[..], b"\0", b"a\0b\0", b"\0\0\0x"] {
        let body = full(&[b"hostname\0", name, &KEYS[10..]].concat());
        let record = minecraft(&body);
        assert_eq!(rules(&record)[..2], [(&b"hostname"[..], name), (b"gametype", b"SMP")]);
        assert_eq!((record.map.as_str(), record.players, names(&record).len()), (Some("world"), Some(2), 2));
        assert_eq!(record.flags, Flags::MALFORMED | Flags::CONTROL_CHARS);
    }
    // Also where the name is the last key.
    let record = minecraft(&full(b"map\0m\0hostname\0a\0b\0\0\x01player_\0\0Ann\0\0"));
    assert_eq!((rules(&record)[1].1, names(&record)), (&b"a\0b"[..], vec![&b"Ann"[..]]));
}

#[test]
fn texts_are_utf8_or_latin_1_and_names_are_shown_without_codes() {
    for (sent, shown) in
        [("§aPumpkin §lQuery".as_bytes(), "Pumpkin Query"), (b"\xA73<\xA7lCaf\xE9\xA7", "<Café§"), (b"plain", "plain")]
    {
        let record = minecraft(&full(&[b"hostname\0", sent, b"\0version\0v\xE9\0\0\x01player_\0\0\0"].concat()));
        assert_eq!((record.name.as_str(), record.version.as_str()), (Some(shown), Some("vé")));
        assert_eq!(
            (record.name.original().unwrap_or(b"plain"), record.version.original()),
            (sent, Some(&b"v\xE9"[..]))
        );
        assert_eq!((rules(&record)[0].1, record.flags), (sent, Flags::NONE));
    }
}

#[test]
fn a_stat_that_ends_early_is_kept_as_far_as_it_goes() {
    let body = full(KEYS);
    let keys_end = body.len() - b"\0\x01player_\0\0Ann\0Bob_\0\0".len();
    // It is not seen to be cut behind a value, the zero that ends the keys, and the number of the section.
    let zeros = (0..keys_end).filter(|at| body[*at] == 0).skip(2);
    let whole: Vec<usize> = zeros.skip(1).step_by(2).map(|at| at + 1).chain([keys_end + 1, keys_end + 2]).collect();
    assert!(whole.contains(&keys_end) && whole.len() == 12, "{whole:?}");
    for length in whole[0]..body.len() {
        let record = minecraft(&body[..length]);
        assert_eq!((record.name.as_str(), record.query(Query::Info)), (Some("A"), QueryStatus::Ok), "{length}");
        assert_eq!(record.flags.contains(Flags::TRUNCATED), !whole.contains(&length), "{length}");
    }
    let cut = minecraft(&full(b"hostname\0A\0plugins\0Pap"));
    assert_eq!((rules(&cut)[1], cut.player_list.is_present()), ((&b"plugins"[..], &b"Pap"[..]), false));
    assert_eq!(cut.query(Query::Players), QueryStatus::NotAsked, "nothing is known of them");
    // Some servers send more zeros than they should.
    let extra = minecraft(&[&full(KEYS)[..], &[0; 9]].concat());
    assert_eq!((names(&extra).len(), extra.flags), (2, Flags::NONE));
}

#[test]
fn fields_of_players_are_told_apart() {
    let body = full(
        b"hostname\0x\0numplayers\x002\0s7\x001\0bIsDedicated\0False\0\0\
          \x01player_\0\0Ann\0Bob\0\0score_\0\0-3\x0012\0\0deaths_\0\x01\x004\0\0ping_\0\0\x39\x39\0\0\0\
          \x02team_t\0\0red\0\0score_t\0\0\x35\0\0",
    );
    let record = decode("ut3", &[&body], everything());
    let player = |name, score, deaths| Player { name, score, deaths, ..Player::default() };
    let all: Vec<_> = record.player_list.iter().collect();
    // The list of deaths begins with player 1, and with the end of the list.
    assert_eq!(all, [player(&b"Ann"[..], Some(-3), None), player(b"Bob", Some(12), None)]);
    assert_eq!((record.password, record.server_type), (Some(true), Some(Letter::Known("listen"))));
    let body = full(b"hostname\0x\0\0\x01player_\0\0Ann\0Bob\0\0deaths_\0\x014\0\0");
    let record = decode("ut3", &[&body], everything());
    assert_eq!(record.player_list.iter().map(|player| player.deaths).collect::<Vec<_>>(), [None, Some(4)]);
    // A blank name looks like the end of the list.
    let record = minecraft(&full(b"hostname\0x\0\0\x01player_\0\0Ann\0\0Bob\0Cid\0\0"));
    assert_eq!(names(&record), [&b"Ann"[..], b"Bob", b"Cid"]);
}

#[test]
fn players_of_just_cause_2_stand_behind_the_keys() {
    let keys = b"splitnum\0\0\0description\0d\0hostname\0h\0numplayers\x002\0password\0True\0\0";
    let players = b"\0\x02Ann\0STEAM_0:1:1\0\0\x2A\0STEAM_0:0:2\0\x01\0";
    let record = decode("justcause2", &[&[&keys[..], players].concat()], everything());
    assert_eq!((names(&record), record.players_declared), (vec![&b"Ann"[..], b""], Some(2)));
    assert_eq!((record.password, record.players, record.flags), (Some(true), Some(2), Flags::NONE));
    let cut = decode("justcause2", &[&[&keys[..], &players[..9]].concat()], everything());
    assert_eq!((names(&cut), cut.flags), (vec![&b"Ann"[..]], Flags::TRUNCATED | Flags::COUNT_MISMATCH));
}

#[test]
fn a_server_of_minecraft_answers_any_padding_in_one_datagram_unless_it_shares_its_address() {
    for (alone, padding, answers) in [
        (false, &b""[..], 1),
        (false, b"\0\0\0\0", 1),
        (false, b"\xFF\xFF\xFF\x01", 0),
        (false, b"\xFF\xFF\xFF\x02", 0),
        (true, b"\xFF\xFF\xFF\x01", 1),
        (true, b"\xFF\xFF\xFF\x02", 1),
    ] {
        // Its token is 0.
        let persona = Persona { split: true, alone, ..Persona::default() };
        let request = [&b"\xFE\xFD\0\x01\x02\x03\x04\0\0\0\0"[..], padding].concat();
        let mut replies = Replies::default();
        dialect("minecraft").serve(&persona, &request, &mut replies);
        assert_eq!(replies.iter().count(), answers, "{alone} {padding:?}");
    }
}

/// Pieces of a stat; the first byte of each is its number.
fn pieces(contents: &[&[u8]]) -> Vec<Vec<u8>> {
    let ask = ask(everything());
    contents.iter().map(|content| reply(STAT, &ask, &[b"splitnum\0", *content].concat())).collect()
}

fn joined(parts: &[Vec<u8>]) -> Option<ServerRecord> {
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let mut whole = Vec::new();
    let join = dialect("ut3").join(&mut Session::default(), &parts, &mut whole);
    assert_eq!(join == Join::Whole, !whole.is_empty());
    (join == Join::Whole).then(|| decode("ut3", &[body(&whole)], everything()))
}

#[test]
fn pieces_are_put_together_in_any_order() {
    let mut parts = pieces(&[
        b"\x00\x00hostname\0x\0a\x001\0",
        b"\x01\x00b\x002\0\0\x01player_\0\0Ann\0",
        b"\x82\x01player_\0\x01Bob\0\0score_\0\0\x35\x00\x36\0\0",
    ]);
    for _ in 0..3 {
        parts.rotate_left(1);
        for count in 0..3 {
            assert!(joined(&parts[..count]).is_none());
        }
        let record = joined(&parts).unwrap();
        assert_eq!((names(&record), record.rules.len()), (vec![&b"Ann"[..], b"Bob"], 3));
        assert_eq!(record.player_list.iter().map(|p| p.score).collect::<Vec<_>>(), [Some(5), Some(6)]);
        assert_eq!(record.flags, Flags::NONE);
    }
    let step = Talk::new("minecraft", everything()).hears(STAT, b"splitnum\0\x01\x01player_\0\0");
    assert_eq!(step, Ok(Step::Part));
}

#[test]
fn what_is_cut_anywhere_and_sent_again_is_there_once() {
    let keys = b"hostname\0x\0mapname\0some map\0m\0mapname\0empty\0\0last\0value\0";
    let all: Vec<&[u8]> = keys.split(|byte| *byte == 0).collect();
    let pairs: Vec<(&[u8], &[u8])> = all[..10].chunks(2).map(|pair| (pair[0], pair[1])).collect();
    for cut in 11..keys.len() {
        // The pair in which it is cut comes again.
        let mut again = 0;
        let mut at = 0;
        for (key, value) in &pairs {
            let end = at + key.len() + value.len() + 2;
            again = if end <= cut { end } else { again };
            at = end;
        }
        for end in [&b""[..], b"\0"] {
            let parts = pieces(&[
                &[&b"\x00\x00"[..], &keys[..cut], if keys[cut - 1] == 0 { b"" } else { end }].concat(),
                &[&b"\x81\x00"[..], &keys[again..], b"\0\x01player_\0\0Ann\0\0"].concat(),
            ]);
            let record = joined(&parts).unwrap();
            assert_eq!(rules(&record), pairs, "cut at {cut}");
            assert_eq!((names(&record), record.flags), (vec![&b"Ann"[..]], Flags::NONE), "cut at {cut}");
        }
    }
}

#[test]
fn info_is_read_from_the_first_piece_when_others_never_come() {
    let begin = b"splitnum\0\0\0hostname\0x\0numplayers\x002\0";
    let record = decode("ut3", &[begin], everything());
    assert_eq!((record.name.as_str(), record.players, record.flags), (Some("x"), Some(2), Flags::TRUNCATED));
    assert_eq!(record.error.as_str(), Some("1 pieces of a split reply came, and not the last"));
    assert_eq!([Query::Info, Query::Rules].map(|query| record.query(query)), [QueryStatus::Ok, QueryStatus::NotAsked]);
    let record = decode("ut3", &[b"splitnum\0\x82\x01player_\0\0Ann\0\0", begin], everything());
    assert_eq!(record.error.as_str(), Some("2 of 3 pieces of a split reply came"));
    let record = decode("ut3", &[b"splitnum\0\x82\x01player_\0\0Ann\0\0"], everything());
    assert_eq!(
        (record.error.as_str(), record.query(Query::Info)),
        (Some("1 of 3 pieces of a split reply came"), QueryStatus::NotAsked)
    );
}

#[test]
fn every_game_knows_its_own_stats() {
    let stats = [
        ("minecraft", full(KEYS)),
        ("ut3", b"splitnum\0\0\0hostname\0x\0OwningPlayerId\x001\0".to_vec()),
        ("justcause2", b"splitnum\0\0\0description\0d\0hostname\0h\0\0\0\0".to_vec()),
    ];
    for (game, stat) in &stats {
        for (other, _) in &stats {
            assert_eq!(Talk::new(other, everything()).hears(STAT, stat).is_ok(), game == other, "{game} {other}");
        }
    }
}

#[test]
fn recorded_servers_answer_with_the_session_of_the_request() {
    let ask = ask(everything());
    let recorded = pieces(&[b"\x80\x00hostname\0x\0\0\x01player_\0\0\0"]);
    let recorded: Vec<&[u8]> = recorded.iter().map(Vec::as_slice).collect();
    let replay = |request: &[u8]| {
        let mut replies = Replies::default();
        dialect("minecraft").replay(request, &recorded, &mut replies);
        replies.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    assert_eq!(replay(b"\xFE\xFD\x09\x01\x02\x03\x04"), [b"\x09\x01\x02\x03\x040\0"], "a token where there is none");
    let stat = [b"\0\x05\x06\x07\x08", body(recorded[0])].concat();
    assert_eq!(replay(b"\xFE\xFD\0\x05\x06\x07\x08\0\0\0\0\0\0\0\0"), std::slice::from_ref(&stat));
    assert_eq!(replay(b"\xFE\xFD\0\x05\x06\x07\x08\0\0\0\0"), [stat], "the full one where there is no basic one");
    assert_eq!(session_id(&ask), recorded[0][1..5]);
}
