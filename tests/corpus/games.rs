//! Which game real servers are recognised as. What each fixture is stands in its name, or in the index beside it.

use super::files::corpus;
use super::program::decode;

#[test]
fn real_servers_are_recognised_as_the_game_that_they_run() {
    let Some(folder) = corpus() else { return };
    for (fixture, key) in [
        ("arma2oa_rules", "arma2-oa"),
        ("arma3_rules_7pages", "arma3"),
        ("bz2_src2006_ffe_info_players_rules", "fortress-forever"),
        ("conan_set", "conan-exiles"),
        ("dayz2026_namalsk", "dayz"),
        ("ffow_bigendian", "ffow"),
        ("gold46_m_split_rules_mod", "cs16"),
        ("gold48_I_split_rules", "cs16"),
        ("hl1_2026_I48_empty_keywords", "half-life"),
        ("hl2dm2026_100rules", "hl2dm"),
        ("info_m_hltv_proxy", "opposing-force"),
        ("info_uppercase_type_os_truncated", "rising-world"),
        ("info_wiki_css_proto2_noEDF", "css"),
        ("info_wiki_rdkf_protoFC_type0", "rag-doll-kung-fu"),
        ("info_wiki_sin_proto2f", "sin"),
        ("mordhau_keywords_B0", "mordhau"),
        ("mw3_backslash_keywords", "cod-mw3"),
        ("ns2_pipe_keywords", "ns2"),
        ("postscriptum_93_of_80", "squad-44"),
        ("rfactor2_no_keywords_l", "rfactor2"),
        ("rust_mp125_cp93", "rust"),
        ("ship_empty", "the-ship"),
        ("source_l4d_edf80_only", "l4d"),
        ("source_l4d2_split_1188", "l4d2"),
        ("source_tf2_split4_rules", "tf2"),
        ("spaceengineers_space_keywords", "space-engineers"),
        ("squad_104_of_80", "squad"),
        ("svencoop_I_protocol17_gold_engine", "svencoop"),
        ("unturned_longvalue_rule", "unturned"),
    ] {
        let row = decode(&folder.join("fixtures").join(format!("{fixture}.hex")), &[]);
        assert_eq!(row["game_key"], key, "{fixture}");
    }
    let row = decode(&folder.join("captures/xash3d-A2S_INFO.hex"), &[]);
    assert_eq!(row["game_key"], "half-life", "a server without an application id, in Half-Life's folder");
}
