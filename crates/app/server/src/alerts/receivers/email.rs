//! Email through a mail server.

use super::super::chat::PersonalMessage;
use super::super::delivery::SendError;
use crate::settings::{AlertSettings, CheckedAlerts};
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Message, SmtpTransport, Transport};

/// A mail server, and who gets messages.
pub(super) struct Mailer {
    transport: SmtpTransport,
    from: Mailbox,
    to: Vec<Mailbox>,
}

impl Mailer {
    /// Does not connect.
    ///
    /// # Errors
    /// When the server's URL or an address is invalid.
    pub(super) fn new(
        settings: &AlertSettings,
        checked: &CheckedAlerts,
        to: &[String],
    ) -> Result<Mailer, String> {
        let (Some(server), Some(from)) = (&settings.email_server, &settings.email_from) else {
            return Err("email needs alerts.email_server and alerts.email_from".to_owned());
        };
        let address = |text: &String| {
            text.parse::<Mailbox>().map_err(|error| format!("{text:?} is no address of email: {error}"))
        };
        let invalid = |error| format!("alerts.email_server: {error}");
        let mut transport = SmtpTransport::from_url(server).map_err(invalid)?;
        if let (Some(user), Some(password)) = (&settings.email_user, &checked.email_password) {
            transport = transport.credentials(Credentials::new(user.clone(), password.clone()));
        }
        Ok(Mailer {
            transport: transport.timeout(Some(settings.send_timeout.duration())).build(),
            from: address(from)?,
            to: to.iter().map(address).collect::<Result<Vec<Mailbox>, String>>()?,
        })
    }

    /// Sends one message to all addresses; blocks. Messages about one incident form a thread. A message that is sent again has
    /// the same Message-ID.
    ///
    /// # Errors
    /// Why the server did not accept it, or is not known to have accepted it.
    pub(super) fn send(&self, id: &str, message: &PersonalMessage, incident: &str) -> Result<(), SendError> {
        let mut builder = Message::builder()
            .message_id(Some(format!("<{id}@laggard>")))
            .from(self.from.clone())
            .subject(&message.title)
            .references(format!("<{incident}@laggard>"))
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            builder = builder.to(to.clone());
        }
        let email = builder.body(message.text()).map_err(|error| SendError::Rejected(error.to_string()))?;
        self.transport.send(&email).map(drop).map_err(|error| {
            let reason = error.to_string();
            match (error.is_permanent(), error.is_transient()) {
                (true, _) => SendError::Rejected(reason),
                (_, true) => SendError::Refused(reason),
                _ => SendError::Unconfirmed(reason),
            }
        })
    }
}
