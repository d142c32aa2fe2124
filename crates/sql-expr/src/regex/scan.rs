//! The characters of a pattern as ICU's scanner gives them: escapes of single characters resolved, `\Q` to `\E` taken literally,
//! white space and comments left out in free mode. It knows nothing of what the characters mean together.

use super::fault::Fault;

/// A character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    /// The code point, which may be a lone surrogate; `None` at the end.
    pub c: Option<u32>,
    /// It stands for itself, whatever it is.
    pub quoted: bool,
}

impl Item {
    /// The character where it may mean more than itself.
    pub fn plain(self) -> Option<char> {
        if self.quoted {
            return None;
        }
        self.c.and_then(char::from_u32)
    }
}

/// Where the scanner is.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    text: Vec<char>,
    at: usize,
    line: u32,
    column: u32,
    last: Option<char>,
    /// Between `\Q` and `\E`.
    quoting: bool,
    /// Behind a backslash that the reader resolves.
    escaped: bool,
    /// White space and comments are left out.
    pub free: bool,
    /// `#` begins a comment in free mode.
    pub comments: bool,
}

impl Scanner {
    pub fn new(pattern: &str) -> Scanner {
        Scanner {
            text: pattern.chars().collect(),
            at: 0,
            line: 1,
            column: 0,
            last: None,
            quoting: false,
            escaped: false,
            free: false,
            comments: true,
        }
    }

    /// Where the last character was.
    pub fn syntax(&self) -> Fault {
        Fault::Syntax(self.line, self.column)
    }

    pub fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    /// The next character as it stands there.
    pub fn raw(&mut self) -> Option<char> {
        let c = self.peek();
        if let Some(c) = c {
            self.at += 1;
            let ends = matches!(c, '\r' | '\u{85}' | '\u{2028}');
            if ends || (c == '\n' && self.last != Some('\r')) {
                self.line += 1;
                self.column = 0;
            } else if c != '\n' {
                self.column += 1;
            }
        }
        self.last = c;
        c
    }

    /// The next character of the pattern.
    pub fn next(&mut self) -> Result<Item, Fault> {
        let mut c = self.raw();
        if self.quoting {
            if c.is_none() || (c == Some('\\') && self.peek() == Some('E')) {
                self.quoting = false;
                self.raw();
                return self.next();
            }
            return Ok(item(c, true));
        }
        if self.escaped {
            self.escaped = false;
            return Ok(item(c, false));
        }
        if self.free {
            c = self.over_white_space(c);
        }
        if c != Some('\\') {
            return Ok(item(c, false));
        }
        match self.peek() {
            Some('a' | 'c' | 'e' | 'f' | 'n' | 'r' | 't' | 'u' | 'U' | 'x') => {
                let c = self.single()?;
                // ICU counts one more character for each of these.
                self.column += 1;
                Ok(Item {
                    c: Some(c),
                    quoted: true,
                })
            }
            Some('0') => {
                self.raw();
                let c = self.octal()?;
                Ok(Item {
                    c: Some(c),
                    quoted: true,
                })
            }
            Some('Q') => {
                self.quoting = true;
                self.raw();
                self.next()
            }
            _ => {
                self.escaped = true;
                Ok(item(c, false))
            }
        }
    }

    fn over_white_space(&mut self, mut c: Option<char>) -> Option<char> {
        loop {
            if c == Some('#') && self.comments {
                while !matches!(
                    c,
                    None | Some('\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{b}' | '\u{c}')
                ) {
                    c = self.raw();
                }
            }
            match c {
                Some(
                    '\t'..='\r'
                    | ' '
                    | '\u{85}'
                    | '\u{200e}'
                    | '\u{200f}'
                    | '\u{2028}'
                    | '\u{2029}',
                ) => c = self.raw(),
                _ => return c,
            }
        }
    }

    /// The character of an escape such as `\n` and `\x41`.
    fn single(&mut self) -> Result<u32, Fault> {
        Ok(match self.raw() {
            Some('a') => 7,
            Some('e') => 27,
            Some('f') => 12,
            Some('n') => 10,
            Some('r') => 13,
            Some('t') => 9,
            Some('c') => match self.raw() {
                Some(c) => u32::from(c) & 0x1f,
                None => u32::from('c'),
            },
            Some('u') => {
                let high = self.hex(4, 4)?;
                self.pair(high)
            }
            Some('U') => self.hex(8, 8)?,
            _ if self.peek() == Some('{') => {
                self.raw();
                let c = self.hex(1, 8)?;
                if self.raw() != Some('}') {
                    return Err(Fault::BadEscape);
                }
                c
            }
            _ => self.hex(1, 2)?,
        })
    }

    /// A high surrogate takes the low one that follows as `\u` too.
    fn pair(&mut self, high: u32) -> u32 {
        if !(0xd800..0xdc00).contains(&high)
            || self.text.get(self.at..self.at + 2) != Some(&['\\', 'u'])
        {
            return high;
        }
        let mut ahead = self.clone();
        ahead.at += 2;
        ahead.column += 2;
        match ahead.hex(4, 4) {
            Ok(low) if (0xdc00..0xe000).contains(&low) => {
                *self = ahead;
                0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => high,
        }
    }

    fn hex(&mut self, least: usize, most: usize) -> Result<u32, Fault> {
        let (mut value, mut n) = (0u64, 0);
        while n < most {
            let Some(d) = self.peek().and_then(|c| c.to_digit(16)) else {
                break;
            };
            self.raw();
            value = value * 16 + u64::from(d);
            n += 1;
        }
        if n < least || value > 0x10_ffff {
            return Err(Fault::BadEscape);
        }
        Ok(value as u32)
    }

    fn octal(&mut self) -> Result<u32, Fault> {
        let mut value = 0;
        for n in 0..3 {
            let Some(d) = self.peek().and_then(|c| c.to_digit(8)) else {
                if n == 0 {
                    return Err(Fault::BadEscape);
                }
                break;
            };
            if value * 8 + d > 255 {
                break;
            }
            value = value * 8 + d;
            self.raw();
        }
        Ok(value)
    }
}

fn item(c: Option<char>, quoted: bool) -> Item {
    Item {
        c: c.map(u32::from),
        quoted,
    }
}
