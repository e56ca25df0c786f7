//! The macro behind the list of protocols: from one word each to modules, enums and dispatch.
//!
//! Enums rather than trait objects, because each protocol has a session type of its own that lives in the flight table.

/// Makes the modules, the enum of all dialects with its dispatch, and the enum of all sessions out of a list of words.
macro_rules! registry {
    ($($(#[$attribute:meta])* $module:ident),+ $(,)?) => {
        $($(#[$attribute])* pub(crate) mod $module;)+

        /// Any dialect of any protocol of the registry.
        #[derive(Clone, Copy)]
        pub struct AnyProtocol(AnyDialect);

        #[derive(Clone, Copy)]
        #[expect(non_camel_case_types, reason = "a variant is named after its module")]
        enum AnyDialect {
            $($(#[$attribute])* $module(&'static $module::Dialect),)+
        }

        /// The state of one query between datagrams, in any protocol of the registry. [`Default`] is that before the
        /// first.
        #[derive(Debug, Clone, Copy, Default)]
        pub struct AnySession(SessionOf);

        #[derive(Debug, Clone, Copy, Default)]
        #[expect(non_camel_case_types, reason = "a variant is named after its module")]
        enum SessionOf {
            /// Nothing was asked yet.
            #[default]
            Nobody,
            $($(#[$attribute])* $module(<$module::Dialect as Protocol>::Session),)+
        }

        /// Every dialect of every protocol, in the order in which `--protocol auto` tries them.
        pub fn all() -> impl Iterator<Item = AnyProtocol> {
            let none = std::iter::empty();
            $($(#[$attribute])*
            let none = none.chain($module::DIALECTS.iter().map(|dialect| AnyProtocol(AnyDialect::$module(dialect))));)+
            none
        }

        impl AnyProtocol {
            /// Name, default port and the columns it can fill.
            #[must_use]
            pub fn spec(&self) -> &'static Spec {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.spec(),)+ }
            }

            /// If this protocol is for list servers, the name of the protocol of the servers that they list.
            #[must_use]
            pub fn lists(&self) -> Option<&'static str> {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.lists(),)+ }
            }

            /// Checks the part of a list's URL behind `?`; the error says what to write instead.
            pub fn check_parameters(&self, text: &str) -> Result<(), String> {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.check_parameters(text),)+ }
            }

            /// Least gaps between two datagrams that this protocol's servers put up with.
            #[must_use]
            pub fn pace(&self) -> Pace {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.pace(),)+ }
            }

            /// The service, as in `_name._tcp`, whose SRV record in DNS says host and port of a server that is named without one.
            #[must_use]
            pub fn service(&self) -> Option<&'static str> {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.service(),)+ }
            }

            /// The queries that it has; others are not asked of its servers.
            #[must_use]
            pub fn queries(&self) -> crate::record::QuerySet {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.queries(),)+ }
            }

            /// Appends the datagram of the current step to `out`: the first one, a retry, the next step.
            pub fn request(&self, session: &AnySession, ask: &Ask<'_>, out: &mut Vec<u8>) {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => {
                    let SessionOf::$module(session) = &session.0 else {
                        return dialect.request(&Default::default(), ask, out);
                    };
                    dialect.request(session, ask, out);
                })+ }
            }

            /// Looks at a datagram from the server that was asked, or at a message that [`AnyProtocol::join`] put
            /// together. What a list server names goes to `found`.
            ///
            /// An error means that it cannot be a message of this protocol; count it, and go on waiting.
            pub fn receive(
                &self, session: &mut AnySession, ask: &Ask<'_>, data: &[u8], found: &mut Found,
            ) -> Result<Step, DecodeError> {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => {
                    dialect.receive(session.0.$module(), ask, data, found)
                })+ }
            }

            /// The queries in progress: those that fail if no answer comes, or no valid one.
            #[must_use]
            pub fn asking(&self, session: &AnySession, ask: &Ask<'_>) -> QuerySet {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => {
                    let SessionOf::$module(session) = &session.0 else {
                        return dialect.asking(&Default::default(), ask);
                    };
                    dialect.asking(session, ask)
                })+ }
            }

            /// Says how to go on when every try of a step stayed unanswered, a [`Next::Listen`] is over, or the query was
            /// skipped.
            pub fn silence(&self, session: &mut AnySession, ask: &Ask<'_>) -> Next {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.silence(session.0.$module(), ask),)+ }
            }

            /// Joins the pieces that have arrived so far (in order of arrival, each with its header) in `whole`, which
            /// is empty.
            pub fn join(&self, session: &mut AnySession, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => {
                    dialect.join(session.0.$module(), parts, whole)
                })+ }
            }

            /// Fills `record` from the answers that were kept, in order of arrival, followed by the pieces of replies
            /// that stayed incomplete.
            pub fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.decode(answers, ask, record),)+ }
            }

            /// Dissects one datagram, which may be a request, or one joined message for a person to read. `others` are
            /// the pieces that its server sent before: one may say how to read the next. What was read before an error
            /// stays in `notes`.
            pub fn dissect(
                &self, data: &[u8], others: &[&[u8]], notes: &mut Dissection,
            ) -> Result<(), DecodeError> {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.dissect(data, others, notes),)+ }
            }

            /// See [`Protocol::replay`].
            pub(crate) fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.replay(request, recorded, replies),)+ }
            }

            /// See [`Protocol::serve`].
            pub(crate) fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.serve(persona, request, replies),)+ }
            }

            /// See [`Protocol::serve_list`].
            pub(crate) fn serve_list(&self, roll: &Roll<'_>, request: &[u8], replies: &mut Replies) {
                match self.0 { $($(#[$attribute])* AnyDialect::$module(dialect) => dialect.serve_list(roll, request, replies),)+ }
            }
        }

        impl SessionOf {
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
