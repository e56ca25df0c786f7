//! The macro behind the list of protocols: from one word each to modules, enums and dispatch.
//!
//! Enums rather than trait objects, because each protocol has a session type of its own that lives in the flight table.

/// Makes the modules, the enum of all dialects with its dispatch, and the enum of all sessions out of a list of words.
macro_rules! registry {
    ($($(#[$attribute:meta])* $module:ident),+ $(,)?) => {
        $($(#[$attribute])* pub mod $module;)+

        /// Any dialect of any protocol of the registry.
        #[derive(Clone, Copy)]
        #[expect(non_camel_case_types, reason = "a variant is named after its module")]
        pub enum AnyProtocol {
            $($(#[$attribute])* #[doc = concat!("A dialect of [`", stringify!($module), "`].")]
            $module(&'static $module::Dialect),)+
        }

        /// The session of any protocol of the registry.
        #[derive(Debug, Clone, Copy, Default)]
        #[expect(non_camel_case_types, reason = "a variant is named after its module")]
        pub enum AnySession {
            /// Nothing was asked yet.
            #[default]
            Fresh,
            $($(#[$attribute])* #[doc = concat!("A session of [`", stringify!($module), "`].")]
            $module(<$module::Dialect as Protocol>::Session),)+
        }

        /// Every dialect of every protocol.
        pub fn all() -> impl Iterator<Item = AnyProtocol> {
            let none = std::iter::empty();
            $($(#[$attribute])* let none = none.chain($module::DIALECTS.iter().map(AnyProtocol::$module));)+
            none
        }

        /// The same as in [`Protocol`], for whichever dialect it is.
        impl AnyProtocol {
            /// See [`Protocol::spec`].
            #[must_use]
            pub fn spec(&self) -> &'static Spec {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.spec(),)+ }
            }

            /// See [`Protocol::lists`].
            #[must_use]
            pub fn lists(&self) -> Option<&'static str> {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.lists(),)+ }
            }

            /// See [`Protocol::check_parameters`].
            pub fn check_parameters(&self, text: &str) -> Result<(), String> {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.check_parameters(text),)+ }
            }

            /// See [`Protocol::serve_list`].
            pub fn serve_list(&self, roll: &Roll<'_>, request: &[u8], replies: &mut Replies) {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.serve_list(roll, request, replies),)+ }
            }

            /// See [`Protocol::pace`].
            #[must_use]
            pub fn pace(&self) -> Pace {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.pace(),)+ }
            }

            /// See [`Protocol::service`].
            #[must_use]
            pub fn service(&self) -> Option<&'static str> {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.service(),)+ }
            }

            /// See [`Protocol::queries`].
            #[must_use]
            pub fn queries(&self) -> crate::record::QuerySet {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.queries(),)+ }
            }

            /// See [`Protocol::request`].
            pub fn request(&self, session: &AnySession, ask: &Ask<'_>, out: &mut Vec<u8>) {
                match self { $($(#[$attribute])* Self::$module(dialect) => {
                    let AnySession::$module(session) = session else {
                        return dialect.request(&Default::default(), ask, out);
                    };
                    dialect.request(session, ask, out);
                })+ }
            }

            /// See [`Protocol::receive`].
            pub fn receive(
                &self, session: &mut AnySession, ask: &Ask<'_>, data: &[u8], found: &mut Found,
            ) -> Result<Step, DecodeError> {
                match self { $($(#[$attribute])* Self::$module(dialect) => {
                    dialect.receive(session.$module(), ask, data, found)
                })+ }
            }

            /// See [`Protocol::asking`].
            #[must_use]
            pub fn asking(&self, session: &AnySession, ask: &Ask<'_>) -> QuerySet {
                match self { $($(#[$attribute])* Self::$module(dialect) => {
                    let AnySession::$module(session) = session else {
                        return dialect.asking(&Default::default(), ask);
                    };
                    dialect.asking(session, ask)
                })+ }
            }

            /// See [`Protocol::silence`].
            pub fn silence(&self, session: &mut AnySession, ask: &Ask<'_>) -> Next {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.silence(session.$module(), ask),)+ }
            }

            /// See [`Protocol::join`].
            pub fn join(&self, session: &mut AnySession, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
                match self { $($(#[$attribute])* Self::$module(dialect) => {
                    dialect.join(session.$module(), parts, whole)
                })+ }
            }

            /// See [`Protocol::decode`].
            pub fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.decode(answers, ask, record),)+ }
            }

            /// See [`Protocol::dissect`].
            pub fn dissect(
                &self, data: &[u8], others: &[&[u8]], notes: &mut Dissection,
            ) -> Result<(), DecodeError> {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.dissect(data, others, notes),)+ }
            }

            /// See [`Protocol::replay`].
            pub fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.replay(request, recorded, replies),)+ }
            }

            /// See [`Protocol::serve`].
            pub fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
                match self { $($(#[$attribute])* Self::$module(dialect) => dialect.serve(persona, request, replies),)+ }
            }
        }

        impl AnySession {
            $($(#[$attribute])*
            fn $module(&mut self) -> &mut <$module::Dialect as Protocol>::Session {
                if !matches!(self, Self::$module(_)) {
                    *self = Self::$module(Default::default());
                }
                match self {
                    Self::$module(session) => session,
                    #[allow(unreachable_patterns, reason = "with one protocol there is no other session")]
                    _ => unreachable!("the line above made it a session of this protocol"),
                }
            })+
        }
    };
}
