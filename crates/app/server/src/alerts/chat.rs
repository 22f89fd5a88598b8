//! Messages for people: of chats (Slack, Teams) and by email.

use super::incidents::IncidentState;
use super::message::{Notice, Writer};
use laggard_system::printable;
use serde_json::{Value, json};

/// Longest text of a block of Slack, in characters, and of its header.
const SLACK_TEXT_MAX: usize = 2_900;
const SLACK_HEADER_MAX: usize = 150;
/// Longest line of a message, in characters: names in traces may be long.
const LINE_MAX: usize = 400;

/// A message for a person about one incident.
pub(super) struct PersonalMessage {
    /// Its subject: what happened, to which service.
    pub(super) title: String,
    /// The verdict, at most ten lines with the address.
    pub(super) lines: Vec<String>,
    /// The address of its page.
    pub(super) link: String,
}

impl PersonalMessage {
    pub(super) fn new(writer: &Writer<'_>, notice: &Notice) -> PersonalMessage {
        let subject = notice.lead().finding.subject();
        let tenant = if writer.tenant == "default" { String::new() } else { format!("{}: ", writer.tenant) };
        let event = match notice.state {
            IncidentState::Closed => "over",
            IncidentState::Open if notice.incident.notified.is_empty() => "incident",
            IncidentState::Open
                if notice.incident.notified.values().all(|last| last.state == IncidentState::Closed) =>
            {
                "incident, open again"
            }
            IncidentState::Open => "incident, still open",
        };
        let mut lines: Vec<String> = match notice.state {
            IncidentState::Open => notice.text.lines().map(|line| printable(line, LINE_MAX)).collect(),
            IncidentState::Closed => {
                let ended = format!("Over after {} minutes: {}.", notice.minutes(), notice.ended());
                vec![ended, printable(&notice.headline, LINE_MAX)]
            }
        };
        let link = writer.link(notice);
        lines.push(link.clone());
        PersonalMessage { title: printable(&format!("{tenant}{subject}: {event}"), LINE_MAX), lines, link }
    }

    /// All lines.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The body of a request to an incoming webhook of Slack.
    pub(super) fn slack(&self) -> Value {
        let header: String = self.title.chars().take(SLACK_HEADER_MAX).collect();
        let text: String = slack_text(&self.text()).chars().take(SLACK_TEXT_MAX).collect();
        json!({
            "text": slack_text(&format!("{}\n{}", self.title, self.text())),
            "blocks": [
                { "type": "header", "text": { "type": "plain_text", "text": header } },
                { "type": "section", "text": { "type": "mrkdwn", "text": text } },
            ],
        })
    }

    /// The body of a request to a webhook of Teams: an adaptive card.
    pub(super) fn teams(&self) -> Value {
        let title = json!({ "type": "TextBlock", "text": self.title, "weight": "Bolder", "size": "Medium", "wrap": true });
        let lines = self.lines.iter().filter(|line| **line != self.link);
        // Its Markdown has no code spans.
        let line =
            |line: &String| json!({ "type": "TextBlock", "text": line.replace('`', "'"), "wrap": true });
        let body: Vec<Value> = std::iter::once(title).chain(lines.map(line)).collect();
        json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": null,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": body,
                    "actions": [{ "type": "Action.OpenUrl", "title": "Open the incident", "url": self.link }],
                },
            }],
        })
    }
}

/// With Slack's control characters escaped, so that no name becomes a mention or a link.
fn slack_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::incidents::IncidentVerdict;
    use super::super::lifecycle::AlertList;
    use super::super::lifecycle::tests::{evaluated, rules, time};
    use super::super::owners::Owners;
    use super::super::pending_notifications::{Recipient, pending};
    use super::*;
    use laggard_report::{Certainty, Clause, ClauseKind};

    static NO_OWNERS: Owners = Owners { all: Vec::new() };

    /// A message about an incident whose verdict has a number of clauses.
    fn message(clauses: usize, text: &str, tenant: &str) -> PersonalMessage {
        let mut list = AlertList::default();
        for minute in 0..2 {
            list.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        let clause = |index: usize| Clause {
            kind: if index == 0 { ClauseKind::What } else { ClauseKind::RuledOut },
            text: text.to_owned(),
            certainty: Certainty::Shown,
            sources: Vec::new(),
        };
        let verdict = IncidentVerdict {
            at_ns: 0,
            alerts: 1,
            recordings: 0,
            class: None,
            clauses: (0..clauses).map(clause).collect(),
        };
        list.incidents[0].verdict = Some(verdict);
        list.incidents[0].was_examined = true;
        let recipient = Recipient { name: "slack", repeat_after: None, confirm_end: None, is_for: &|_| true };
        let notice = pending(&list, recipient, time(2)).remove(0);
        let writer = Writer { pages: "https://laggard.example", tenant, owners: &NO_OWNERS };
        PersonalMessage::new(&writer, &notice)
    }

    #[test]
    fn a_message_has_the_verdict_in_at_most_ten_lines() {
        let short = message(3, "`read` is slow.", "default");
        assert_eq!(short.title, "db: incident");
        assert_eq!(short.lines[0], "`read` is slow.");
        assert_eq!(short.lines[1], "Ruled out: `read` is slow.");
        assert_eq!(short.lines.len(), 4);
        assert!(short.lines[3].starts_with("https://laggard.example/incidents/"));
        let long = message(30, "`read` is slow.", "shop");
        assert_eq!((long.lines.len(), long.title.as_str()), (10, "shop: db: incident"));
        assert_eq!(long.lines.last(), Some(&long.link));
    }

    #[test]
    fn names_in_traces_cannot_mention_people_or_break_lines() {
        let hostile = message(1, "<!channel> & <https://evil.example|here>\u{7}", "default");
        assert_eq!(hostile.lines.len(), 2);
        let slack = hostile.slack();
        let text = slack["blocks"][1]["text"]["text"].as_str().unwrap();
        assert!(text.starts_with("&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;"), "{text}");
        assert!(!text.contains(char::is_control) || text.chars().all(|c| c == '\n' || !c.is_control()));
        let endless = message(9, &"x".repeat(10_000), "default").slack();
        assert!(endless["blocks"][1]["text"]["text"].as_str().unwrap().chars().count() <= SLACK_TEXT_MAX);
    }

    #[test]
    fn a_card_of_teams_has_a_line_for_each_clause_and_a_link() {
        let message = message(2, "`read` is slow.", "default");
        let card = message.teams();
        let content = &card["attachments"][0]["content"];
        assert_eq!((&content["type"], &content["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
        assert_eq!(content["body"].as_array().unwrap().len(), 3);
        assert_eq!(content["body"][1]["text"], "'read' is slow.");
        assert_eq!(content["actions"][0]["url"], json!(message.link));
    }
}
