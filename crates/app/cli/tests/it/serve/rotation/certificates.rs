//! Certificates, and clients that use them.

use crate::serve::Response;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A root that signs certificates.
pub(in crate::serve) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(in crate::serve) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Authorities with one name would be taken for each other.
        let key = KeyPair::generate().unwrap();
        let number = format!("authority {:?}", &key.public_key_raw()[..8]);
        params.distinguished_name.push(rcgen::DnType::CommonName, number);
        Authority { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// A certificate and its key, as PEM.
    pub(in crate::serve) fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    pub(in crate::serve) fn pem(&self) -> String {
        AsRef::<rcgen::Certificate>::as_ref(&self.issuer).pem()
    }
}

/// A client of HTTP over TLS.
#[derive(Clone)]
pub(super) struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    /// Trusts servers of these authorities; `own` signs its certificate.
    pub(super) fn new(trusted: &[&Authority], own: Option<&Authority>) -> Client {
        let mut roots = RootCertStore::empty();
        for authority in trusted {
            roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match own.map(|authority| authority.sign("collector")) {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                builder
                    .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
                    .unwrap()
            }
        };
        Client { config: Arc::new(config) }
    }

    /// A connection that sends nothing yet.
    pub(super) fn connect(&self, server: SocketAddr) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(self.config.clone(), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// Sends the text of a request, which asks the server to close the connection, and reads the response.
    pub(super) fn request(&self, server: SocketAddr, text: &str) -> io::Result<Response> {
        let mut stream = self.connect(server)?;
        stream.write_all(text.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Response::parse(&bytes).ok_or_else(|| io::Error::other("no response"))
    }
}
