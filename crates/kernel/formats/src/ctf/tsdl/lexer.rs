//! The words of TSDL.

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Name(String),
    NumberPlan(i128),
    /// A text in double quotes.
    Text(String),
    /// `{ } [ ] ( ) < > ; , . = : * -` and so on.
    Sign(char),
    /// `:=`
    Becomes,
    /// `...`
    Dots,
    End,
}

/// Reads token after token, with one token of lookahead.
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    ahead: Option<Token>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Lexer<'a> {
        Lexer { bytes, at: 0, ahead: None }
    }

    /// The line being read, from 1.
    pub(super) fn line(&self) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.bytes[..self.at.min(self.bytes.len())]).count()
    }

    /// The next word without taking it.
    pub(super) fn peek(&mut self) -> Result<&Token, String> {
        if self.ahead.is_none() {
            self.ahead = Some(self.read()?);
        }
        Ok(self.ahead.as_ref().expect("just filled"))
    }

    /// Takes the next word.
    pub(super) fn next(&mut self) -> Result<Token, String> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    /// Takes the next word when it is this sign.
    pub(super) fn takes(&mut self, sign: char) -> Result<bool, String> {
        let is_next = *self.peek()? == Token::Sign(sign);
        if is_next {
            self.ahead = None;
        }
        Ok(is_next)
    }

    /// Takes this sign, or fails.
    pub(super) fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.next()? {
            Token::Sign(next) if next == sign => Ok(()),
            other => Err(format!("`{sign}` expected, found {other:?}")),
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            match rest {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | 0, ..] => self.at += 1,
                [b'/', b'*', ..] => {
                    let end = memchr::memmem::find(&rest[2..], b"*/").ok_or("a comment without end")?;
                    self.at += end + 4;
                }
                [b'/', b'/', ..] => self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                _ => return Ok(()),
            }
        }
    }

    fn read(&mut self) -> Result<Token, String> {
        self.skip_blanks()?;
        let rest = self.rest();
        let Some(&first) = rest.first() else { return Ok(Token::End) };
        if first.is_ascii_alphabetic() || first == b'_' {
            let length =
                rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            self.at += length;
            return Ok(Token::Name(String::from_utf8_lossy(&rest[..length]).into_owned()));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if rest.starts_with(b"...") {
            self.at += 3;
            return Ok(Token::Dots);
        }
        if rest.starts_with(b":=") {
            self.at += 2;
            return Ok(Token::Becomes);
        }
        match first {
            b'"' => self.quoted(b'"').map(Token::Text),
            b'\'' => {
                self.quoted(b'\'').map(|text| Token::NumberPlan(text.chars().next().map_or(0, |c| c as i128)))
            }
            b'-' | b'+' if rest.get(1).is_some_and(u8::is_ascii_digit) => self.signed(first),
            0x21..=0x7e => {
                self.at += 1;
                Ok(Token::Sign(first as char))
            }
            _ => Err(format!("a byte {first:#04x} outside texts and comments")),
        }
    }

    fn signed(&mut self, sign: u8) -> Result<Token, String> {
        self.at += 1;
        match self.number()? {
            Token::NumberPlan(value) if sign == b'-' => Ok(Token::NumberPlan(-value)),
            token => Ok(token),
        }
    }

    /// Decimal, `0x`, `0b` or octal, with C's suffixes.
    fn number(&mut self) -> Result<Token, String> {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        self.at += length;
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| "a number".to_owned())?;
        let lower = text.to_ascii_lowercase();
        let digits = lower.trim_end_matches(['u', 'l']);
        let (digits, radix) = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
            (Some(digits), _) => (digits, 16),
            (None, Some(digits)) => (digits, 2),
            (None, None) if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
            (None, None) => (digits, 10),
        };
        let value = u64::from_str_radix(digits, radix).map_err(|_| format!("`{text}` is no number"))?;
        Ok(Token::NumberPlan(i128::from(value)))
    }

    fn quoted(&mut self, quote: u8) -> Result<String, String> {
        let mut text = Vec::new();
        let mut bytes = self.bytes[self.at + 1..].iter().enumerate();
        while let Some((index, &byte)) = bytes.next() {
            match byte {
                b'\\' => match bytes.next() {
                    Some((_, b'n')) => text.push(b'\n'),
                    Some((_, b't')) => text.push(b'\t'),
                    Some((_, &byte)) => text.push(byte),
                    None => break,
                },
                byte if byte == quote => {
                    self.at += index + 2;
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
                byte => text.push(byte),
            }
        }
        Err("a text without end".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token> {
        let mut lexer = Lexer::new(text.as_bytes());
        let mut out = Vec::new();
        loop {
            match lexer.next().unwrap() {
                Token::End => return out,
                token => out.push(token),
            }
        }
    }

    #[test]
    fn numbers_have_four_bases_and_suffixes() {
        let values: Vec<Token> =
            [27, 31, 5, 8, 18_446_744_073_709_551_615, -3].map(Token::NumberPlan).to_vec();
        assert_eq!(all("27 0x1FULL 0b101 010u 18446744073709551615 -3"), values);
    }

    #[test]
    fn ranges_assignments_and_comments_are_distinguished() {
        let tokens = all("a=0 ... 30 /* ; */ := \"x\\\"y\" // end\n;");
        let expected = vec![
            Token::Name("a".to_owned()),
            Token::Sign('='),
            Token::NumberPlan(0),
            Token::Dots,
            Token::NumberPlan(30),
            Token::Becomes,
            Token::Text("x\"y".to_owned()),
            Token::Sign(';'),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn unterminated_tokens_are_errors() {
        for text in ["\"abc", "/* abc", "\u{7f}", "0x", "99999999999999999999999"] {
            assert!(Lexer::new(text.as_bytes()).next().is_err(), "{text}");
        }
    }
}
