//! Writes a pattern for a matcher. There are two ways of writing one: exactly, for the matcher that looks around, and for the linear
//! one, which has no look-around, and whose text is right where the text to match has no line ends in certain places ([`Odd`]).

use super::class::char_text;
use super::tree::{Greed, Kind, Node};

/// All ends of lines.
const ENDS: &str = r"[\n\x0b\f\r\x{85}\x{2028}\x{2029}]";

/// Which texts the linear writing is wrong for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Odd {
    /// Those that end with LF.
    pub last_lf: bool,
    /// Those that end with any line end.
    pub last_any: bool,
    /// Those with CR LF in them.
    pub crlf: bool,
    /// Those with line ends other than CR and LF.
    pub rare: bool,
}

impl Odd {
    /// Whether a text is one of them.
    pub fn is(self, text: &[u8]) -> bool {
        let ended = |t: &[u8]| {
            matches!(t.last(), Some(b'\n'..=b'\r'))
                || t.ends_with("\u{85}".as_bytes())
                || t.ends_with("\u{2028}".as_bytes())
                || t.ends_with("\u{2029}".as_bytes())
        };
        (self.last_lf && text.last() == Some(&b'\n'))
            || (self.last_any && ended(text))
            || (self.crlf && text.windows(2).any(|w| w == b"\r\n"))
            || (self.rare
                && (text.iter().any(|b| matches!(b, 0x0b | 0x0c))
                    || text.windows(2).any(|w| w == "\u{85}".as_bytes())
                    || text
                        .windows(3)
                        .any(|w| w == "\u{2028}".as_bytes() || w == "\u{2029}".as_bytes())))
    }
}

/// A pattern written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub text: String,
    /// The linear matcher cannot do it.
    pub hard: bool,
    /// Where the linear writing does not hold.
    pub odd: Odd,
}

/// Writes a pattern, exactly or for the linear matcher.
pub(super) fn write(root: &Node, exact: bool) -> Written {
    let mut w = Writer {
        exact,
        ignore_case: false,
        out: Written::default(),
    };
    w.node(root);
    w.out
}

struct Writer {
    exact: bool,
    /// What the flags in force say.
    ignore_case: bool,
    out: Written,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    fn case(&mut self, ignore: bool) {
        if self.ignore_case != ignore {
            self.put(if ignore { "(?i)" } else { "(?-i)" });
            self.ignore_case = ignore;
        }
    }

    fn group(&mut self, open: &str, node: &Node) {
        let before = self.ignore_case;
        self.put(open);
        self.node(node);
        self.put(")");
        self.ignore_case = before;
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Char(c, ignore) => self.char(*c, *ignore),
            Node::Set(set, ignore) => {
                self.case(*ignore);
                self.put(set);
            }
            Node::Dot { all: true, .. } => {
                // CR LF is one line end, and `.` takes it whole.
                self.out.odd.crlf = true;
                self.put(if self.exact {
                    r"(?>\r\n|[\x00-\x{10ffff}])"
                } else {
                    "(?s:.)"
                });
            }
            Node::Dot { unix: true, .. } => self.put(r"[^\n]"),
            Node::Dot { .. } => self.put(r"[^\n\x0b\f\r\x{85}\x{2028}\x{2029}]"),
            Node::Start { multi: false, .. } => self.put(r"(?:\A)"),
            Node::Start { unix, .. } => self.line_start(*unix),
            Node::End { multi: false, unix } => self.text_end(*unix),
            Node::End { unix, .. } => self.line_end(*unix),
            Node::Place(p) => self.put(p),
            Node::LastEnd => {
                self.out.hard = true;
                self.put(r"\G");
            }
            Node::LineBreak => {
                self.out.hard = true;
                self.put(&format!(r"(?>\r\n|{ENDS})"));
            }
            Node::Cluster => {
                self.out.hard = true;
                // Marks, joiners and skin tones stay with what they follow; flags are two letters.
                const MARK: &str = r"[\p{M}\x{200d}\x{1f3fb}-\x{1f3ff}]";
                let picture = r"\p{Extended_Pictographic}";
                self.put(&format!(
                    r"(?>\r\n|\p{{Regional_Indicator}}{{2}}|{picture}(?:{MARK}*\x{{200d}}{picture})*{MARK}*|\P{{M}}{MARK}*|{MARK}+)"
                ));
            }
            Node::Back(n, ignore) => {
                self.out.hard = true;
                self.case(*ignore);
                self.put(&format!(r"(?:\{n})"));
            }
            Node::Group(kind, inner) => {
                let open = match kind {
                    Kind::Capture => "(",
                    Kind::Plain => "(?:",
                    Kind::Atomic => "(?>",
                    Kind::Ahead => "(?=",
                    Kind::NotAhead => "(?!",
                    Kind::Behind => "(?<=",
                    Kind::NotBehind => "(?<!",
                };
                self.out.hard |= !matches!(kind, Kind::Capture | Kind::Plain);
                self.group(open, inner);
            }
            Node::Repeat(inner, min, max, greed) => self.repeat(inner, *min, *max, *greed),
            Node::Sequence(parts) => self.sequence(parts),
            Node::Either(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        self.put("|");
                    }
                    self.node(part);
                }
            }
        }
    }

    /// In either case, the sharp s is two letters s.
    fn char(&mut self, c: u32, ignore: bool) {
        self.case(ignore);
        if ignore && matches!(c, 0xdf | 0x1e9e) {
            self.put(r"(?:\x{df}|\x{1e9e}|ss)");
        } else {
            self.put(&char_text(c));
        }
    }

    fn sequence(&mut self, parts: &[Node]) {
        let s = |n: &Node| matches!(n, Node::Char(0x53 | 0x73, true));
        let mut i = 0;
        while let Some(part) = parts.get(i) {
            if s(part) && parts.get(i + 1).is_some_and(s) {
                self.case(true);
                self.put(r"(?:ss|\x{df}|\x{1e9e})");
                i += 2;
            } else {
                self.node(part);
                i += 1;
            }
        }
    }

    fn repeat(&mut self, inner: &Node, min: u32, max: Option<u32>, greed: Greed) {
        if inner.longest() == Some(0) {
            // What takes no characters holds once or not at all; matchers do not repeat what looks around.
            return match (min, max) {
                (_, Some(0)) => {}
                (0, _) if greed == Greed::Lazy => self.group("(?:|", inner),
                (0, _) => {
                    self.put("(?:");
                    self.group("(?:", inner);
                    self.put("|)");
                }
                _ => self.group("(?:", inner),
            };
        }
        let possessive = greed == Greed::Possessive;
        self.out.hard |= possessive;
        let before = self.ignore_case;
        self.put(if possessive { "(?>(?:" } else { "(?:" });
        self.node(inner);
        self.put(")");
        self.ignore_case = before;
        let sign = match (min, max) {
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (0, Some(1)) => "?".to_owned(),
            (n, None) => format!("{{{n},}}"),
            (n, Some(m)) => format!("{{{n},{m}}}"),
        };
        self.put(&sign);
        match greed {
            Greed::Lazy => self.put("?"),
            Greed::Possessive => self.put(")"),
            Greed::Greedy => {}
        }
    }

    /// `^` where every line counts: not between CR and LF, and behind the last line end only where lines end with LF alone.
    fn line_start(&mut self, unix: bool) {
        if unix {
            self.put("(?m:^)");
            return;
        }
        self.out.odd.last_any = true;
        self.out.odd.rare = true;
        self.put(if self.exact {
            r"(?:\A|(?<=[\n\x0b\f\x{85}\x{2028}\x{2029}])(?!\z)|(?<=\r)(?!\n|\z))"
        } else {
            "(?mR:^)"
        });
    }

    /// `$` at the end of the text, or before the line end that ends it.
    fn text_end(&mut self, unix: bool) {
        if unix {
            self.out.odd.last_lf = true;
        } else {
            self.out.odd.last_any = true;
        }
        self.put(match (self.exact, unix) {
            (false, _) => r"(?:\z)",
            (true, true) => r"(?=\z|\n\z)",
            (true, false) => r"(?=\z|\r\n\z|[\x0b\f\r\x{85}\x{2028}\x{2029}]\z|(?<!\r)\n\z)",
        });
    }

    /// `$` where every line counts: not between CR and LF.
    fn line_end(&mut self, unix: bool) {
        self.out.odd.rare |= !unix;
        self.put(match (self.exact, unix) {
            (false, true) => "(?m:$)",
            (false, false) => "(?mR:$)",
            (true, true) => r"(?=\z|\n)",
            (true, false) => r"(?=\z|[\x0b\f\r\x{85}\x{2028}\x{2029}]|(?<!\r)\n)",
        });
    }
}
