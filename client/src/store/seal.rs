//! Sealing: what a store keeps is of no use to who reads the store.

use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::{RecordBytes, StoreError};
use crate::AttachmentId;
use crate::entropy::{Entropy, NoEntropy};

/// A key of the host that seals every record before a store sees it.
///
/// A record holds the relay's token: without it another worker could not act for the attachment.
/// A host that keeps a secret outside of the store (an environment variable, a key service) gives
/// that secret to each of its workers as a sealing key, and a copied store file then holds neither
/// tokens nor titles. Without a key the token is in the record in the clear, and the store's own
/// protection is all there is.
///
/// A sealed record is bound to its attachment's id: it cannot be moved under another one. Records
/// written under one key are unreadable under another, and unsealed records are refused once a key
/// is given, so that nobody can slip one in.
#[derive(Clone)]
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// A key from 32 secret bytes.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        // The one way for this to fail is a key of another length than the algorithm's, which is 32.
        #[allow(clippy::unwrap_used)]
        let key = UnboundKey::new(&CHACHA20_POLY1305, &secret).unwrap();
        Self(LessSafeKey::new(key))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey([redacted])")
    }
}

/// Turns records into what a store keeps, and back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vault {
    key: Option<SealingKey>,
}

/// First byte of what a store keeps, so that one form is never taken for the other.
const PLAIN: u8 = b'p';
const SEALED: u8 = b's';

impl Vault {
    pub(crate) fn new(key: Option<SealingKey>) -> Self {
        Self { key }
    }

    pub(crate) fn close(
        &self,
        id: &AttachmentId,
        plain: &[u8],
        entropy: &Entropy,
    ) -> Result<RecordBytes, NoEntropy> {
        let Some(SealingKey(key)) = &self.key else {
            return Ok(RecordBytes::new([&[PLAIN], plain].concat()));
        };
        let nonce = entropy.bytes::<NONCE_LEN>()?;
        let mut sealed = plain.to_vec();
        let at = Nonce::assume_unique_for_key(nonce);
        // The algorithm refuses texts of more than 256 GiB, and nothing else.
        #[allow(clippy::unwrap_used)]
        key.seal_in_place_append_tag(at, Aad::from(id.as_str()), &mut sealed).unwrap();
        Ok(RecordBytes::new([&[SEALED], &nonce[..], &sealed].concat()))
    }

    pub(crate) fn open(
        &self,
        id: &AttachmentId,
        record: &RecordBytes,
    ) -> Result<Vec<u8>, StoreError> {
        let unreadable = |what: &str| StoreError::Unreadable { what: what.to_owned() };
        match (&self.key, record.as_bytes()) {
            (None, [PLAIN, plain @ ..]) => Ok(plain.to_vec()),
            (None, [SEALED, ..]) => {
                Err(unreadable("it is sealed and this client has no sealing key"))
            }
            (Some(_), [PLAIN, ..]) => {
                Err(unreadable("it is not sealed and this client has a sealing key"))
            }
            (Some(SealingKey(key)), [SEALED, rest @ ..]) => {
                let opened = rest.split_first_chunk::<NONCE_LEN>().and_then(|(nonce, sealed)| {
                    let mut bytes = sealed.to_vec();
                    let at = Nonce::assume_unique_for_key(*nonce);
                    let plain = key.open_in_place(at, Aad::from(id.as_str()), &mut bytes).ok()?;
                    Some(plain.to_vec())
                });
                opened.ok_or_else(|| unreadable("its seal was made with another key or is broken"))
            }
            _ => Err(unreadable("it is not a record of this library")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SECRET: &[u8] = b"a-token-of-sixteen";

    fn sealed_by(key: u8) -> Vault {
        Vault::new(Some(SealingKey::new([key; 32])))
    }

    fn id(text: &str) -> AttachmentId {
        AttachmentId::from(text)
    }

    #[test]
    fn a_sealed_record_opens_with_its_key_and_id_alone() {
        let kept = sealed_by(1).close(&id("a"), SECRET, &Entropy::os()).unwrap();
        assert_eq!(sealed_by(1).open(&id("a"), &kept).unwrap(), SECRET);
        for (vault, under) in
            [(sealed_by(2), id("a")), (sealed_by(1), id("b")), (Vault::default(), id("a"))]
        {
            vault.open(&under, &kept).unwrap_err();
        }
        assert!(!kept.as_bytes().windows(SECRET.len()).any(|window| window == SECRET));
    }

    #[test]
    fn a_key_refuses_records_that_nobody_sealed() {
        let kept = Vault::default().close(&id("a"), SECRET, &Entropy::os()).unwrap();
        assert_eq!(Vault::default().open(&id("a"), &kept).unwrap(), SECRET);
        sealed_by(1).open(&id("a"), &kept).unwrap_err();
    }

    #[test]
    fn every_broken_byte_breaks_the_seal() {
        let kept = sealed_by(1).close(&id("a"), SECRET, &Entropy::os()).unwrap();
        for at in 0..kept.as_bytes().len() {
            let mut bytes = kept.as_bytes().to_vec();
            bytes[at] ^= 1;
            sealed_by(1).open(&id("a"), &RecordBytes::new(bytes)).unwrap_err();
        }
        sealed_by(1).open(&id("a"), &RecordBytes::new(vec![SEALED, 1])).unwrap_err();
        sealed_by(1).open(&id("a"), &RecordBytes::new(vec![])).unwrap_err();
    }
}
