//! AWS Signature Version 4, in headers and in URLs.

use crate::region::Region;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningError, SigningInstructions,
    SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use gatepass_sdk::{AwsKeys, Credential, Error, Material, egress};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// All but the unreserved characters of RFC 3986, as the canonical request wants it.
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The last second of year 9999, past which a date has no eight digits.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// The keys in a credential of this provider's `exchange`.
///
/// # Errors
///
/// `internal` if there are none.
pub(crate) fn keys(access: &Credential) -> Result<&AwsKeys, Error> {
    match &access.material {
        Material::Aws(keys) => Ok(keys),
        _ => Err(Error::internal("the access credential holds no AWS keys")),
    }
}

/// A request before it is signed. The host's name comes from the URL.
pub(crate) struct Unsigned<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    /// Names in lower case; all are signed.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

/// Signs for one service, region and moment.
pub(crate) struct Signer<'a> {
    pub(crate) keys: &'a AwsKeys,
    /// The service's signing name.
    pub(crate) service: &'a str,
    pub(crate) region: &'a Region,
    pub(crate) now: SystemTime,
}

impl Signer<'_> {
    /// The request with its signature in the header `authorization`.
    ///
    /// # Errors
    ///
    /// `internal` if keys, headers or clock cannot be written into a request.
    pub(crate) fn request(&self, unsigned: &Unsigned<'_>) -> Result<egress::Request, Error> {
        let instructions = self.sign(unsigned, SigningSettings::default())?;
        let builder = egress::Request::builder(unsigned.method, unsigned.url);
        let builder = unsigned
            .headers
            .iter()
            .copied()
            .chain(instructions.headers())
            .fold(builder, |builder, (name, value)| {
                builder.header(name, value)
            });
        Ok(match unsigned.body {
            [] => builder.build(),
            body => builder.body(body).build(),
        })
    }

    /// The URL with its signature in the query, good for `lifetime`. It is as good as a password.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub(crate) fn presign(
        &self,
        unsigned: &Unsigned<'_>,
        lifetime: Duration,
    ) -> Result<Zeroizing<String>, Error> {
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(lifetime);
        let instructions = self.sign(unsigned, settings)?;
        let mut url = Zeroizing::new(unsigned.url.to_owned());
        let mut separator = if url.contains('?') { '&' } else { '?' };
        for (name, value) in instructions.params() {
            url.push(separator);
            url.push_str(name);
            url.push('=');
            url.extend(utf8_percent_encode(value, RESERVED));
            separator = '&';
        }
        Ok(url)
    }

    fn sign(
        &self,
        unsigned: &Unsigned<'_>,
        settings: SigningSettings,
    ) -> Result<SigningInstructions, Error> {
        if self.now > SystemTime::UNIX_EPOCH + LAST_SECOND {
            return Err(Error::internal("the host's clock is past the year 9999"));
        }
        let identity = self.credentials().into();
        let parameters: SigningParams<'_> = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region.name())
            .name(self.service)
            .time(self.now)
            .settings(settings)
            .build()
            .map_err(|error| Error::internal(format!("cannot sign a request: {error}")))?
            .into();
        let request = SignableRequest::new(
            unsigned.method,
            unsigned.url,
            unsigned.headers.iter().copied(),
            SignableBody::Bytes(unsigned.body),
        )
        .map_err(|error| self.unsignable(&error))?;
        let signed = sign(request, &parameters).map_err(|error| self.unsignable(&error))?;
        Ok(signed.into_parts().0)
    }

    fn credentials(&self) -> Credentials {
        let session_token = self.keys.session_token.as_ref();
        Credentials::new(
            self.keys.access_key_id.as_str(),
            self.keys.secret_access_key.expose(),
            session_token.map(|token| token.expose().to_owned()),
            None,
            "gatepass",
        )
    }

    /// The cause stays out: it may quote a header, and one of them is the session token.
    fn unsignable(&self, _cause: &SigningError) -> Error {
        Error::internal(format!(
            "cannot sign a request to {}: the keys or the request hold characters that no header can",
            self.service
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing::header;

    /// 2015-08-30T12:36:00Z, the moment of AWS's signing test suite.
    const MOMENT: Duration = Duration::from_secs(1_440_938_160);

    const TOKEN: &str = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";

    const STS_TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

    struct Vector {
        name: &'static str,
        method: &'static str,
        path: &'static str,
        headers: &'static [(&'static str, &'static str)],
        token: Option<&'static str>,
        header_signature: &'static str,
        query_signature: &'static str,
    }

    /// Cases of `aws-signing-test-suite/v4`, which AWS ships in the archive of `aws-sigv4`.
    const VECTORS: [Vector; 6] = [
        Vector {
            name: "get-vanilla",
            method: "GET",
            path: "/",
            headers: &[],
            token: None,
            header_signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            query_signature: "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d",
        },
        Vector {
            name: "get-vanilla-with-session-token",
            method: "GET",
            path: "/",
            headers: &[],
            token: Some(TOKEN),
            header_signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
            query_signature: "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c",
        },
        Vector {
            name: "get-vanilla-query-order-key-case",
            method: "GET",
            path: "/?Param2=value2&Param1=value1",
            headers: &[],
            token: None,
            header_signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            query_signature: "86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5",
        },
        Vector {
            name: "get-utf8",
            method: "GET",
            path: "/ሴ",
            headers: &[],
            token: None,
            header_signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
            query_signature: "10eae3f14a260bd3911cc6d008d3c576d143b05b62f09782a7a4b37f52178e44",
        },
        Vector {
            name: "post-header-key-sort",
            method: "POST",
            path: "/",
            headers: &[("my-header1", "value1")],
            token: None,
            header_signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
            query_signature: "c09d07e0d55871f10f2a6d350d994acf6825a3cae70673d7def55616e6119dd7",
        },
        Vector {
            name: "post-sts-header-before",
            method: "POST",
            path: "/",
            headers: &[],
            token: Some(STS_TOKEN),
            header_signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            query_signature: "46c2e3c63c1dbe7d39f8ada16fe7f001c1f56c5791441565323677f96308871c",
        },
    ];

    fn keys(token: Option<&str>) -> AwsKeys {
        AwsKeys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session_token: token.map(Into::into),
        }
    }

    #[test]
    fn signatures_are_those_of_the_suite() {
        let region = Region::parse("region", "us-east-1").unwrap();
        for vector in VECTORS {
            let keys = keys(vector.token);
            let signer = Signer {
                keys: &keys,
                service: "service",
                region: &region,
                now: SystemTime::UNIX_EPOCH + MOMENT,
            };
            let url = format!("https://example.amazonaws.com{}", vector.path);
            let unsigned = Unsigned {
                method: vector.method,
                url: &url,
                headers: vector.headers,
                body: b"",
            };
            let signed = signer.request(&unsigned).unwrap();
            let authorization = header(&signed, "authorization").unwrap();
            let signature = format!("Signature={}", vector.header_signature);
            assert!(authorization.ends_with(&signature), "{}", vector.name);
            assert_eq!(
                header(&signed, "x-amz-security-token").as_deref(),
                vector.token
            );
            let presigned = signer
                .presign(&unsigned, Duration::from_secs(3600))
                .unwrap();
            let signature = format!("X-Amz-Signature={}", vector.query_signature);
            let signed = presigned.split('&').any(|pair| pair == signature);
            assert!(signed, "{}: {}", vector.name, *presigned);
        }
    }

    #[test]
    fn keys_and_clocks_that_cannot_be_written_are_an_error_without_them() {
        let region = Region::parse("region", "us-east-1").unwrap();
        let unsigned = Unsigned {
            method: "GET",
            url: "https://example.amazonaws.com/",
            headers: &[],
            body: b"",
        };
        let far = SystemTime::UNIX_EPOCH + LAST_SECOND + Duration::from_secs(1);
        for (token, now) in [
            ("line\nbreak", SystemTime::UNIX_EPOCH + MOMENT),
            ("fine", far),
        ] {
            let keys = keys(Some(token));
            let signer = Signer {
                keys: &keys,
                service: "ecr",
                region: &region,
                now,
            };
            let error = signer.request(&unsigned).unwrap_err();
            assert_eq!(error.code(), gatepass_sdk::ErrorCode::Internal);
            assert!(!error.message().contains("break"), "{error}");
        }
    }
}
