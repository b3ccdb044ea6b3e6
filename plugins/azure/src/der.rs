//! As much of DER (ITU-T X.690) as an RSA key needs: elements with one byte of tag and a definite
//! length, one after another.

/// Tags of the elements that are read.
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const SEQUENCE: u8 = 0x30;

/// The most bytes that a length is written with here: four, good for 4 GiB.
const MAX_LENGTH_BYTES: usize = 4;

/// What is left to read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The content of the next element, if it has this tag.
    pub(crate) fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        let (length, rest) = length(rest)?;
        let (content, rest) = rest.split_at_checked(length)?;
        (*first == tag).then(|| {
            self.0 = rest;
            content
        })
    }

    /// The next element, a sequence, as a reader of its own.
    pub(crate) fn sequence(&mut self) -> Option<Self> {
        self.element(SEQUENCE).map(Self)
    }

    /// The next element, an integer above zero, as its bytes from the first that is not zero.
    pub(crate) fn positive(&mut self) -> Option<&'a [u8]> {
        let bytes = self.element(INTEGER)?;
        let negative = bytes.first().is_none_or(|first| *first >= 0x80);
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let (_, digits) = bytes.split_at_checked(zeros)?;
        (!negative && !digits.is_empty()).then_some(digits)
    }
}

/// A length below 128 is one byte; of a longer one, the first byte says how many follow.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let Some(count) = first.checked_sub(0x80) else {
        return Some((usize::from(*first), rest));
    };
    let count = usize::from(count);
    if !(1..=MAX_LENGTH_BYTES).contains(&count) {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length = digits.iter().try_fold(0_usize, |length, digit| {
        length.checked_mul(256)?.checked_add(usize::from(*digit))
    })?;
    Some((length, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_one_after_another() {
        let long = [&[0x04, 0x82, 0x01, 0x00][..], &[7; 256]].concat();
        let inner = [&[0x02, 0x01, 0x05][..], &[0x02, 0x02, 0x00, 0x80], &long].concat();
        let mut outer = vec![0x30, 0x82];
        outer.extend(u16::try_from(inner.len()).unwrap().to_be_bytes());
        outer.extend(&inner);
        let mut sequence = Reader::new(&outer).sequence().unwrap();
        assert_eq!(sequence.positive(), Some(&[5][..]));
        assert_eq!(sequence.element(SEQUENCE), None, "another tag");
        assert_eq!(sequence.positive(), Some(&[0x80][..]));
        assert_eq!(sequence.element(OCTET_STRING), Some(&[7; 256][..]));
        assert_eq!(sequence.element(OCTET_STRING), None, "the end");
    }

    #[test]
    fn what_is_cut_off_or_lies_is_nothing() {
        for bytes in [
            &[][..],
            &[0x02],
            &[0x02, 0x01],
            &[0x02, 0x02, 0x01],
            &[0x02, 0x80, 0x00],
            &[0x02, 0x81],
            &[0x02, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00],
            &[0x02, 0x85, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01],
            &[0x02, 0xff],
        ] {
            assert_eq!(Reader::new(bytes).element(INTEGER), None, "{bytes:?}");
        }
        for bytes in [
            &[0x02, 0x00][..],
            &[0x02, 0x01, 0x00],
            &[0x02, 0x02, 0x00, 0x00],
            &[0x02, 0x01, 0x80],
        ] {
            assert_eq!(Reader::new(bytes).positive(), None, "{bytes:?}");
        }
    }
}
