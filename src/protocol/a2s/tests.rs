use std::net::SocketAddr;

use proptest::prelude::*;

use super::session::{GOLD_SOURCE_GAP, LISTEN};
use super::*;
use crate::record::{Flags, Letter, QuerySet};
use crate::rng::AddressHasher;

const ASK: Ask<'_> = Ask {
    queries: QuerySet::of(Query::Info),
    address: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1),
    parameters: "",
    key: AddressHasher::new(1),
};

fn receive(session: &mut Session, data: &[u8]) -> Result<Step, DecodeError> {
    DIALECTS[0].receive(session, &ASK, data, &mut Found::default())
}

fn request(session: Session) -> Vec<u8> {
    let mut out = Vec::new();
    DIALECTS[0].request(&session, &ASK, &mut out);
    out
}

fn decode(data: &[u8]) -> ServerRecord {
    let mut record = ServerRecord::new();
    DIALECTS[0].decode(&[data], &ASK, &mut record);
    record
}

/// The reply of Valve's wiki for Counter-Strike: Source, built by hand from its description.
const REPLY: &[u8] = b"\xFF\xFF\xFF\xFFI\x02game2xs.com Counter-Strike Source #1\0de_dust\0cstrike\0\
    Counter-Strike: Source\0\xF0\0\x05\x10\x04dl\0\x001.0.0.22\0";

#[test]
fn the_first_request_is_the_plain_one_of_25_bytes_and_a_challenge_makes_29() {
    let mut session = Session::default();
    assert_eq!(request(session), b"\xFF\xFF\xFF\xFFTSource Engine Query\0");
    assert_eq!(receive(&mut session, b"\xFF\xFF\xFF\xFFA\x41\x27\xB6\xAC"), Ok(Step::Move(Next::Send)));
    assert_eq!(request(session), b"\xFF\xFF\xFF\xFFTSource Engine Query\0\x41\x27\xB6\xAC");
    assert_eq!(receive(&mut session, REPLY), Ok(Step::Answer(Next::Finish)));
}

#[test]
fn a_second_challenge_replaces_the_first_and_the_same_one_is_not_answered() {
    let mut session = Session::default();
    let challenge = |n: u8| [0xFF, 0xFF, 0xFF, 0xFF, b'A', n, 0, 0, 0];
    assert_eq!(receive(&mut session, &challenge(1)), Ok(Step::Move(Next::Send)));
    assert_eq!(receive(&mut session, &challenge(1)), Ok(Step::Ignore(Ignored::Duplicate)));
    assert_eq!(receive(&mut session, &challenge(2)), Ok(Step::Move(Next::Send)));
    assert!(request(session).ends_with(&[2, 0, 0, 0]));
    assert_eq!(receive(&mut session, &challenge(3)), Ok(Step::Move(Next::Send)));
    assert_eq!(receive(&mut session, &challenge(4)), Ok(Step::Move(Next::Send)));
    assert_eq!(receive(&mut session, &challenge(5)), Ok(Step::Move(Next::Fail(Status::ChallengeLoop))));
}

#[test]
fn silence_is_told_from_a_server_that_only_ever_sends_challenges() {
    let mut session = Session::default();
    assert_eq!(DIALECTS[0].silence(&mut session, &ASK), Next::Finish);
    let challenge = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
    receive(&mut session, challenge).unwrap();
    assert_eq!(DIALECTS[0].silence(&mut session, &ASK), Next::Finish, "the answer may have been lost");
    receive(&mut session, challenge).unwrap();
    assert_eq!(DIALECTS[0].silence(&mut session, &ASK), Next::Skip(Status::ChallengeOnly));
    assert_eq!(DIALECTS[0].silence(&mut session, &ASK), Next::Finish);
}

#[test]
fn what_is_no_challenge_and_no_answer_leaves_the_query_waiting() {
    let mut session = Session::default();
    let cases: [(&[u8], Result<Step, DecodeError>); 9] = [
        (b"\xFF\xFF\xFF\xFFA\x01\x02", Err(DecodeError::new(Problem::Cut, 5))),
        (b"\xFF\xFF\xFF\xFFA00000000 12345 2\n\0", Ok(Step::Ignore(Ignored::Unsolicited))),
        (b"\xFF\xFF\xFF\xFFD\x00", Ok(Step::Ignore(Ignored::Unsolicited))),
        (b"\xFF\xFF\xFF\xFFlChallenge accepted\n\0", Ok(Step::Ignore(Ignored::Unsolicited))),
        (&[0; 64], Err(DecodeError::new(Problem::Header, 0))),
        (b"\xFF", Err(DecodeError::new(Problem::Header, 0))),
        (b"", Err(DecodeError::new(Problem::Header, 0))),
        (b"\xFF\xFF\xFF\xFFZ", Err(DecodeError::new(Problem::Type, 4))),
        (b"\xFF\xFF\xFF\xFFI", Err(DecodeError::new(Problem::Cut, 5))),
    ];
    for (data, expected) in cases {
        assert_eq!(receive(&mut session, data), expected, "{data:x?}");
        assert_eq!(request(session).len(), 25);
    }
}

#[test]
fn a_ban_ends_the_query_and_its_text_is_kept() {
    let ban = b"\xFF\xFF\xFF\xFFlYou have been banned from this server.\n\0";
    assert_eq!(receive(&mut Session::default(), ban), Ok(Step::Answer(Next::Fail(Status::Banned))));
    let record = decode(ban);
    assert_eq!(record.error.as_str(), Some("You have been banned from this server."));
    assert_eq!(record.query(Query::Info), QueryStatus::NotAsked);
}

#[test]
fn every_fixed_field_lands_in_its_column() {
    let record = decode(REPLY);
    assert_eq!(record.protocol_version, Some(2));
    assert_eq!(record.name.as_str(), Some("game2xs.com Counter-Strike Source #1"));
    assert_eq!(record.map.as_str(), Some("de_dust"));
    assert_eq!(record.folder.as_str(), Some("cstrike"));
    assert_eq!(record.game.as_str(), Some("Counter-Strike: Source"));
    assert_eq!((record.app_id, record.game_id), (Some(240), None));
    assert_eq!((record.players, record.max_players, record.bots), (Some(5), Some(16), Some(4)));
    assert_eq!((record.players_best, record.players_basis), (Some(5), Some("reported")));
    assert_eq!(record.server_type, Some(Letter::Known("dedicated")));
    assert_eq!(record.os, Some(Letter::Known("linux")));
    assert_eq!((record.password, record.vac), (Some(false), Some(false)));
    assert_eq!(record.version.as_str(), Some("1.0.0.22"));
    assert_eq!((record.game_port, record.steam_id, record.keywords.as_str()), (None, None, None));
    assert!(record.flags.is_empty());
}

#[test]
fn extra_fields_are_read_in_the_order_of_the_wire() {
    let mut reply = REPLY.to_vec();
    reply.push(0xF1);
    reply.extend(27_045_u16.to_le_bytes());
    reply.extend(85_568_392_920_039_468_u64.to_le_bytes());
    reply.extend(27_050_u16.to_le_bytes());
    reply.extend(b"SourceTV\0alltalk,trade\0");
    reply.extend(((7_u64 << 56) | 0x3_DA4A).to_le_bytes());
    let record = decode(&reply);
    assert_eq!(record.game_port, Some(27_045));
    assert_eq!(record.steam_id, Some(85_568_392_920_039_468));
    assert_eq!((record.spectator_port, record.spectator_name.as_str()), (Some(27_050), Some("SourceTV")));
    assert_eq!(record.keywords.as_str(), Some("alltalk,trade"));
    assert_eq!(record.app_id, Some(0x3_DA4A), "the low 24 bits of the game id");
    assert_eq!(record.game_id, Some((7 << 56) | 0x3_DA4A));
    assert!(record.flags.is_empty());
    reply.push(9);
    assert_eq!(decode(&reply).flags, Flags::TRAILING_BYTES);
}

#[test]
fn a_cut_reply_is_kept_as_far_as_it_goes() {
    let mut reply = REPLY.to_vec();
    reply.push(0xB1);
    let record = decode(&reply);
    assert_eq!((record.players, record.flags), (Some(5), Flags::TRUNCATED));
    assert_eq!(record.version.as_str(), Some("1.0.0.22"));
    let record = decode(&REPLY[..20]);
    assert_eq!((record.name.as_str(), record.map.as_str()), (Some("game2xs.com Co"), None));
    assert_eq!((record.flags, record.query(Query::Info)), (Flags::TRUNCATED, QueryStatus::Ok));
}

#[test]
fn a_repeated_header_is_skipped() {
    let mut reply = b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF".to_vec();
    reply.extend_from_slice(REPLY);
    assert_eq!(receive(&mut Session::default(), &reply), Ok(Step::Answer(Next::Finish)));
    assert_eq!(decode(&reply), decode(REPLY));
}

#[test]
fn letters_are_folded_and_unknown_ones_kept() {
    let with = |kind, os| {
        let mut reply = REPLY.to_vec();
        let at = reply.len() - 13;
        reply[at..at + 2].copy_from_slice(&[kind, os]);
        let record = decode(&reply);
        (record.server_type.unwrap(), record.os.unwrap())
    };
    assert_eq!(with(b'D', b'W'), (Letter::Known("dedicated"), Letter::Known("windows")));
    assert_eq!(with(b'P', b'o'), (Letter::Known("proxy"), Letter::Known("macos")));
    assert_eq!(with(b'l', b'm'), (Letter::Known("listen"), Letter::Known("macos")));
    assert_eq!(with(0, b'?'), (Letter::Byte(0), Letter::Byte(b'?')));
}

#[test]
fn a_missing_vac_byte_is_noticed_and_the_version_is_whole() {
    let mut reply = REPLY.to_vec();
    reply.remove(REPLY.len() - 10);
    let record = decode(&reply);
    assert_eq!((record.vac, record.version.as_str()), (None, Some("1.0.0.22")));
    assert_eq!(record.flags, Flags::MALFORMED);
}

#[test]
fn the_ship_has_three_bytes_before_its_version() {
    let reply = b"\xFF\xFF\xFF\xFFI\x07Ship\0batavier\0ship\0The Ship\0\x60\x09\x01\x05\0lw\0\0\x01\x03\x031.0.0.4\0";
    let info = Info::parse(&reply[5..]);
    assert_eq!((info.ship, info.version), (Some([1, 3, 3]), Some(&b"1.0.0.4"[..])));
    assert!(info.flags.is_empty());
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1_u8..=255, 0..40)
}

proptest! {
    /// What is emitted is parsed back, whatever the fields.
    #[test]
    fn a_whole_reply_is_read_back_as_it_was_written(
        texts in prop::array::uniform7(text()),
        numbers in any::<(u8, u16, u8, u8, u8, u8, u8, bool, bool)>(),
        extra in any::<(u8, u16, u64, u16, u64)>(),
        ends in any::<bool>(),
    ) {
        let [name, map, folder, game, version, spectator_name, keywords] = &texts;
        let (protocol, app_id, players, max_players, bots, server_type, os, password, vac) = numbers;
        let (edf, port, steam_id, spectator_port, game_id) = extra;
        let edf = (!ends).then_some(edf & 0xF1);
        let sent = |bit: u8| edf.is_some_and(|edf| edf & bit != 0);
        let info = Info {
            protocol: Some(protocol),
            name: Some(name),
            map: Some(map),
            folder: Some(folder),
            game: Some(game),
            app_id: Some(app_id),
            players: Some(players),
            max_players: Some(max_players),
            bots: Some(bots),
            server_type: Some(server_type),
            os: Some(os),
            password: Some(u8::from(password)),
            vac: Some(u8::from(vac)),
            ship: [2400, 2401, 2402, 2403, 2405, 2406, 2412, 2430].contains(&app_id).then_some([1, 2, 3]),
            version: Some(version),
            edf,
            port: sent(0x80).then_some(port),
            steam_id: sent(0x10).then_some(steam_id),
            spectator_port: sent(0x40).then_some(spectator_port),
            spectator_name: sent(0x40).then_some(spectator_name.as_slice()),
            keywords: sent(0x20).then_some(keywords.as_slice()),
            game_id: sent(0x01).then_some(game_id),
            flags: Flags::NONE,
        };
        let mut body = Vec::new();
        info.emit(&mut body);
        prop_assert_eq!(Info::parse(&body), info);
    }
}

/// Everything is wanted.
const ALL: Ask<'_> = Ask { queries: QuerySet::ALL, ..ASK };
const GOLD_SOURCE_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFI\x30name\0map\0valve\0Half-Life\0\x46\0\x03\x10\0dl\0\x011.1.2.7\0";
const OLD_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFm127.0.0.1:27015\0old name\0map\0valve\0Half-Life\0\x03\x10\x2Fdl\0\x01\
    www.example.org\0\0\0\x01\0\0\0\0\0\0\0\0\x01\x01\x02";
const PLAYERS_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFD\x01\0a\0\x01\0\0\0\0\0\x80\x3F";
const RULES_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFE\x01\0a\x001\0";
const A_CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";

/// What an exchange does to `session`, step by step.
fn steps(session: &mut Session, messages: &[&[u8]]) -> Vec<Step> {
    let receive = |message: &&[u8]| DIALECTS[0].receive(session, &ALL, message, &mut Found::default()).unwrap();
    messages.iter().map(receive).collect()
}

fn asks(session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    DIALECTS[0].request(session, &ALL, &mut out);
    out
}

#[test]
fn one_challenge_serves_all_queries() {
    let mut session = Session::default();
    assert_eq!(steps(&mut session, &[A_CHALLENGE, REPLY]), [Step::Move(Next::Send), Step::Answer(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFU\x01\x02\x03\x04");
    assert_eq!(steps(&mut session, &[PLAYERS_REPLY]), [Step::Answer(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04");
    // Few servers answer pings: one is asked for once.
    assert_eq!(steps(&mut session, &[RULES_REPLY]), [Step::Answer(Next::SendOnce)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFi");
    assert_eq!(steps(&mut session, &[b"\xFF\xFF\xFF\xFFj"]), [Step::Answer(Next::Finish)]);
}

#[test]
fn without_a_challenge_minus_one_asks_for_one_and_immediate_answers_are_taken() {
    let mut session = Session::default();
    assert_eq!(steps(&mut session, &[REPLY]), [Step::Answer(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
    assert_eq!(steps(&mut session, &[PLAYERS_REPLY]), [Step::Answer(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFV\xFF\xFF\xFF\xFF");
    assert_eq!(steps(&mut session, &[A_CHALLENGE]), [Step::Move(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04");
}

#[test]
fn answers_are_told_apart_by_type_and_late_ones_are_kept() {
    let mut session = Session::default();
    assert_eq!(DIALECTS[0].silence(&mut session, &ALL), Next::SendOnce, "info is given up");
    assert_eq!(steps(&mut session, &[RULES_REPLY, REPLY]), [Step::Answer(Next::Stay); 2]);
    assert_eq!(asks(&session)[4], b'U', "the players are still awaited");
    let rest = steps(&mut session, &[RULES_REPLY, REPLY, PLAYERS_REPLY, PLAYERS_REPLY]);
    let again = Step::Ignore(Ignored::Duplicate);
    assert_eq!(rest, [again, again, Step::Answer(Next::SendOnce), again]);
    assert_eq!(asks(&session)[4], b'i', "nothing is asked twice");
}

#[test]
fn a_goldsource_server_may_answer_in_both_forms_and_any_order() {
    let listen = Step::Answer(Next::Listen(LISTEN));
    let next = Step::Answer(Next::SendAfter(GOLD_SOURCE_GAP));
    let stay = Step::Answer(Next::Stay);
    let orders: [(&[&[u8]], &[Step]); 4] = [
        (&[OLD_REPLY, PLAYERS_REPLY, GOLD_SOURCE_REPLY], &[listen, stay, next]),
        (&[GOLD_SOURCE_REPLY, OLD_REPLY, PLAYERS_REPLY], &[listen, next, next]),
        (&[PLAYERS_REPLY, GOLD_SOURCE_REPLY, OLD_REPLY], &[stay, listen, next]),
        (&[PLAYERS_REPLY, OLD_REPLY, GOLD_SOURCE_REPLY], &[stay, listen, next]),
    ];
    for (messages, expected) in orders {
        let mut session = Session::default();
        assert_eq!(steps(&mut session, messages), expected);
        assert_eq!(asks(&session)[4], b'V', "the players came unasked");
        let mut record = ServerRecord::new();
        DIALECTS[0].decode(messages, &ALL, &mut record);
        assert_eq!((record.name.as_str(), record.protocol_version), (Some("name"), Some(48)));
        assert_eq!(record.mod_url.as_str(), Some("www.example.org"));
        assert_eq!((record.player_list.len(), record.flags), (1, Flags::GOLDSOURCE_DUAL));
    }
    // The old form alone does too, once nothing follows it; a challenge that nobody asked for changes nothing.
    let mut session = Session::default();
    assert_eq!(steps(&mut session, &[OLD_REPLY, A_CHALLENGE]), [listen, Step::Ignore(Ignored::Unsolicited)]);
    assert_eq!(DIALECTS[0].silence(&mut session, &ALL), Next::SendAfter(GOLD_SOURCE_GAP));
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
}

#[test]
fn a_challenge_alone_is_the_last_resort() {
    let mut session = Session::default();
    steps(&mut session, &[REPLY]);
    let mut silence = || DIALECTS[0].silence(&mut session, &ALL);
    assert_eq!([silence(), silence(), silence()], [Next::Send, Next::SendOnce, Next::SendOnce]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFW");
    assert_eq!(steps(&mut session, &[A_CHALLENGE]), [Step::Move(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFU\x01\x02\x03\x04");
    assert_eq!(steps(&mut session, &[PLAYERS_REPLY]), [Step::Answer(Next::Send)]);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04");
    let mut silence = || DIALECTS[0].silence(&mut session, &ALL);
    assert_eq!(silence(), Next::Finish, "it is used once");

    // A server that gives challenges does not need it, and neither does one that answers nothing.
    let mut session = Session::default();
    steps(&mut session, &[A_CHALLENGE, REPLY]);
    let mut silence = || DIALECTS[0].silence(&mut session, &ALL);
    assert_eq!([silence(), silence(), silence()], [Next::Send, Next::SendOnce, Next::Finish]);
    let mut session = Session::default();
    let mut silence = || DIALECTS[0].silence(&mut session, &ALL);
    assert_eq!(
        [silence(), silence(), silence(), silence()],
        [Next::SendOnce, Next::SendOnce, Next::SendOnce, Next::Finish]
    );
}

#[test]
fn a_loop_of_challenges_in_one_query_spoils_no_other() {
    let mut session = Session::default();
    steps(&mut session, &[A_CHALLENGE, REPLY]);
    let challenge = |n: u8| [0xFF, 0xFF, 0xFF, 0xFF, b'A', n, n, n, n];
    let all = [5, 6, 7, 8, 9].map(challenge);
    let all: Vec<&[u8]> = all.iter().map(|challenge| &challenge[..]).collect();
    let mut expected = vec![Step::Move(Next::Send); 4];
    expected.push(Step::Move(Next::Skip(Status::ChallengeLoop)));
    assert_eq!(steps(&mut session, &all), expected);
    assert_eq!(DIALECTS[0].silence(&mut session, &ALL), Next::Send);
    assert_eq!(asks(&session), b"\xFF\xFF\xFF\xFFV\x08\x08\x08\x08");
}

#[test]
fn frontlines_fuel_of_war_has_a_body_of_its_own() {
    let record = decode(
        b"\xFF\xFF\xFF\xFFI\x02name\0FL-Boneyard\0FOW\0FL\0Frontlines: Fuel of War\x001.3.0\0\x15\x64\x03\x20dw\0\x01\
          \x1E\x02\x05\x07\x08",
    );
    assert_eq!((record.name.as_str(), record.game.as_str()), (Some("name"), Some("Frontlines: Fuel of War")));
    assert_eq!((record.game_port, record.players, record.max_players), (Some(5476), Some(3), Some(32)));
    assert_eq!((record.app_id, record.version.as_str()), (None, Some("1.3.0")));
    assert_eq!((record.vac, record.password, record.flags), (Some(true), Some(false), Flags::NONE));
}
