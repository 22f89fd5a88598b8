use super::*;
use futures::FutureExt;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// A root that signs certificates for tests.
struct Root {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, as PEM.
struct Pair {
    certificate: String,
    key: String,
}

impl Root {
    fn new() -> Root {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Root { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn sign(&self, name: &str) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    fn pem(&self) -> String {
        AsRef::<rcgen::Certificate>::as_ref(&self.issuer).pem()
    }

    /// A client that trusts this root, with an optional client certificate.
    fn client(&self, own: Option<&Pair>) -> TlsConnector {
        let mut trusted = RootCertStore::empty();
        trusted.add(AsRef::<rcgen::Certificate>::as_ref(&self.issuer).der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(trusted);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(pair) => {
                let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
            }
        };
        TlsConnector::from(Arc::new(config))
    }
}

/// Files of a server's certificates.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(pair: &Pair) -> Files {
        let files = Files { folder: tempfile::tempdir().unwrap() };
        files.write(pair);
        files
    }

    fn write(&self, pair: &Pair) {
        std::fs::write(self.folder.path().join("tls.crt"), &pair.certificate).unwrap();
        std::fs::write(self.folder.path().join("tls.key"), &pair.key).unwrap();
    }

    fn settings(&self) -> TlsSettings {
        let path_of = |name: &str| Some(self.folder.path().join(name));
        TlsSettings { certificate: path_of("tls.crt"), key: path_of("tls.key"), client_roots: None }
    }
}

/// Whether a client and a server can communicate in both directions.
async fn agree(transport: &Transport, client: &TlsConnector) -> bool {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let acceptor = transport.acceptance().unwrap().acceptor;
    let server = async {
        let (stream, _) = socket.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.ok()?;
        stream.write_all(b"x").await.ok()?;
        stream.flush().await.ok()
    };
    let client = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("laggard.test").unwrap();
        let mut stream = client.connect(name, stream).await.ok()?;
        stream.read_u8().await.ok()
    };
    let (served, read) = tokio::join!(server, client);
    served.is_some() && read == Some(b'x')
}

#[tokio::test]
async fn certificates_are_reloaded() {
    let (root, other) = (Root::new(), Root::new());
    let files = Files::new(&root.sign("laggard.test"));
    let transport = Transport::load(&files.settings()).unwrap();
    assert!(transport.is_encrypted());
    assert!(agree(&transport, &root.client(None)).await);
    assert!(!agree(&transport, &other.client(None)).await);

    files.write(&other.sign("laggard.test"));
    assert!(transport.reload());
    assert!(agree(&transport, &other.client(None)).await);
    files.write(&Pair { certificate: "nonsense".to_owned(), key: "nonsense".to_owned() });
    assert!(!transport.reload());
    assert!(agree(&transport, &other.client(None)).await, "what cannot be used changes nothing");
}

#[tokio::test]
async fn mutual_tls_needs_a_certificate_of_the_right_root() {
    let (root, clients) = (Root::new(), Root::new());
    let files = Files::new(&root.sign("laggard.test"));
    let roots = files.folder.path().join("roots.pem");
    std::fs::write(&roots, clients.pem()).unwrap();
    let transport = Transport::load(&TlsSettings { client_roots: Some(roots), ..files.settings() }).unwrap();
    assert!(agree(&transport, &root.client(Some(&clients.sign("collector")))).await);
    assert!(!agree(&transport, &root.client(None)).await);
    assert!(!agree(&transport, &root.client(Some(&root.sign("collector")))).await);
}

#[test]
fn mismatched_files_are_named() {
    let root = Root::new();
    let (one, other) = (root.sign("laggard.test"), root.sign("laggard.test"));
    let files = Files::new(&Pair { certificate: one.certificate.clone(), key: other.key });
    let refused = |files: &Files| Transport::load(&files.settings()).err().unwrap();
    assert!(refused(&files).contains("do not fit"), "{}", refused(&files));
    files.write(&Pair { certificate: String::new(), key: one.key });
    assert!(refused(&files).contains("no certificate"), "{}", refused(&files));
    std::fs::remove_file(files.folder.path().join("tls.crt")).unwrap();
    assert!(refused(&files).contains("tls.crt"), "{}", refused(&files));
}

#[tokio::test]
async fn clients_are_distrusted_with_their_root() {
    let (root, clients, others) = (Root::new(), Root::new(), Root::new());
    let files = Files::new(&root.sign("laggard.test"));
    let roots = files.folder.path().join("roots.pem");
    std::fs::write(&roots, clients.pem()).unwrap();
    let settings = TlsSettings { client_roots: Some(roots.clone()), ..files.settings() };
    let transport = Transport::load(&settings).unwrap();
    let collector = clients.sign("collector");
    let chain =
        CertificateDer::pem_slice_iter(collector.certificate.as_bytes()).map(Result::unwrap).collect();
    let mut distrusted = Box::pin(transport.acceptance().unwrap().distrusted(chain));
    std::fs::write(&roots, clients.pem() + &others.pem()).unwrap();
    assert!(transport.reload());
    assert!(distrusted.as_mut().now_or_never().is_none(), "its root is still there");
    std::fs::write(&roots, "nonsense").unwrap();
    assert!(!transport.reload());
    assert!(distrusted.as_mut().now_or_never().is_none());
    std::fs::write(&roots, others.pem()).unwrap();
    let before = transport.stamps();
    assert!(transport.reload() && before == transport.stamps());
    assert!(distrusted.as_mut().now_or_never().is_some());
    assert!(!agree(&transport, &root.client(Some(&collector))).await);
    assert!(agree(&transport, &root.client(Some(&others.sign("collector")))).await);
}
