//! Messages to receivers, as Alertmanager defines them: of its webhook (version 4) and of its API.

use super::delivery::OutgoingMessage;
use super::evaluate::Finding;
use super::finding::{AlertFinding, ServerFinding};
use super::incidents::{IncidentRecord, IncidentSize, IncidentState};
use super::kind::AlertKind;
use super::lifecycle::Alert;
use super::objective_finding::ObjectiveFinding;
use super::owners::Owners;
use laggard_model::{FingerprintBuilder, Timestamp};
use laggard_report::rfc3339;
use laggard_system::printable;
use serde_json::{Map, Value, json};

/// Alertmanager's text for an unknown time.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Longest text of an annotation, in characters: names of traces may be long.
const TEXT_MAX: usize = 1_000;

/// Longest text of a verdict, in characters.
const VERDICT_MAX: usize = 4_000;

/// An incident to notify a receiver of.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    pub(super) incident: IncidentRecord,
    /// Its alerts, the one that opened it first.
    pub(super) alerts: Vec<Alert>,
    pub(super) state: IncidentState,
    pub(super) size: IncidentSize,
    /// The headline, one sentence.
    pub(super) headline: String,
    /// The verdict, a line for each clause.
    pub(super) text: String,
}

/// Writes messages about one tenant's incidents.
pub(super) struct Writer<'a> {
    /// URL of the pages, without a slash at its end.
    pub(super) pages: &'a str,
    pub(super) tenant: &'a str,
    pub(super) owners: &'a Owners,
}

impl Writer<'_> {
    /// A message of Alertmanager's webhook, with an id that a repetition has, too; all notices are of one kind.
    pub(super) fn webhook(&self, receiver: &str, message: &OutgoingMessage) -> Value {
        let notices = &message.notices;
        let name = notices.first().map_or("", |first| first.kind().alert_name());
        let alerts: Vec<Value> = notices.iter().map(|notice| self.webhook_alert(notice)).collect();
        let firing = notices.iter().any(|notice| notice.state == IncidentState::Open);
        json!({
            "version": "4",
            "id": message.id,
            "groupKey": format!("{{}}:{{alertname={name:?}, tenant={:?}}}", self.tenant),
            "truncatedAlerts": 0,
            "status": if firing { "firing" } else { "resolved" },
            "receiver": receiver,
            "groupLabels": { "alertname": name, "tenant": self.tenant },
            "commonLabels": common(&alerts, "labels"),
            "commonAnnotations": common(&alerts, "annotations"),
            "externalURL": self.pages,
            "alerts": alerts,
        })
    }

    fn webhook_alert(&self, notice: &Notice) -> Value {
        let ends = notice.incident.closed_ns.filter(|_| notice.state == IncidentState::Closed);
        json!({
            "status": if notice.state == IncidentState::Open { "firing" } else { "resolved" },
            "labels": self.labels(notice.lead()),
            "annotations": self.annotations(notice),
            "startsAt": time(notice.incident.since_ns),
            "endsAt": ends.map_or_else(|| NEVER.to_owned(), time),
            "generatorURL": self.link(notice),
            "fingerprint": self.fingerprint(notice.lead()),
        })
    }

    /// Alerts for Alertmanager's API. A firing one ends by itself at `valid_until` unless it is sent again.
    pub(super) fn alertmanager(&self, notices: &[Notice], valid_until: Timestamp) -> Value {
        let alerts = notices.iter().map(|notice| {
            let ends = match notice.state {
                IncidentState::Closed => notice.incident.closed_ns.unwrap_or(valid_until.unix_ns()),
                IncidentState::Open => valid_until.unix_ns(),
            };
            json!({
                "labels": self.labels(notice.lead()),
                "annotations": self.annotations(notice),
                "startsAt": time(notice.incident.since_ns.min(ends)),
                "endsAt": time(ends),
                "generatorURL": self.link(notice),
            })
        });
        Value::Array(alerts.collect())
    }

    /// Labels identify an incident by the alert that opened it: they do not change while it lasts.
    fn labels(&self, alert: &Alert) -> Value {
        let name = alert.kind().alert_name();
        let mut labels = json!({"alertname": name, "tenant": self.tenant, "severity": "warning"});
        let mut add = |name: &str, text: &str| {
            if !text.is_empty() {
                labels[name] = Value::from(printable(text, TEXT_MAX));
            }
        };
        add("owner", self.owners.of_alert(alert).map_or("", |owner| &owner.name));
        match &alert.finding {
            AlertFinding::Operation(finding) => add("service", &finding.service),
            AlertFinding::Server(finding) => {
                add("service", &finding.tier);
                add("server", &finding.server);
                add("device", finding.device());
            }
            AlertFinding::Objective(finding) => {
                add("severity", finding.severity.label());
                add("service", &finding.service);
                add("objective", &finding.objective);
            }
        }
        labels
    }

    fn annotations(&self, notice: &Notice) -> Value {
        let mut out = Map::new();
        let mut add = |name: &str, text: String| {
            if !text.is_empty() {
                out.insert(name.to_owned(), Value::from(printable(&text, TEXT_MAX)));
            }
        };
        add("summary", notice.headline.clone());
        add("incident", notice.incident.id.clone());
        if notice.state == IncidentState::Closed {
            add("resolved", notice.ended().to_owned());
        }
        match &notice.lead().finding {
            AlertFinding::Operation(finding) => annotate_operation(finding, &mut add),
            AlertFinding::Server(finding) => annotate_server(finding, &mut add),
            AlertFinding::Objective(finding) => annotate_objective(finding, &mut add),
        }
        let others = notice.alerts.iter().skip(1).map(|alert| alert.finding.names().join(" "));
        add("also", others.collect::<Vec<String>>().join(", "));
        add("verdict", format!("{}{}", self.pages, notice.lead().page()));
        let lines: Vec<String> = notice.text.lines().map(|line| printable(line, TEXT_MAX)).collect();
        let description: String = lines.join("\n").chars().take(VERDICT_MAX).collect();
        out.insert("description".to_owned(), Value::from(description));
        Value::Object(out)
    }

    /// The page of the incident.
    pub(super) fn link(&self, notice: &Notice) -> String {
        format!("{}/incidents/{}", self.pages, notice.incident.id)
    }

    fn fingerprint(&self, alert: &Alert) -> String {
        let mut builder = FingerprintBuilder::new();
        builder.bytes(self.tenant.as_bytes());
        alert.finding.names().iter().for_each(|name| builder.bytes(name.as_bytes()));
        builder.finish().to_string()[..16].to_owned()
    }
}

impl Notice {
    /// Why it is over.
    pub(super) fn ended(&self) -> &str {
        self.alerts.iter().rev().find_map(|alert| alert.ended.as_deref()).unwrap_or_default()
    }

    /// How long it lasted, or has lasted.
    pub(super) fn minutes(&self) -> i64 {
        let until = self.incident.closed_ns.unwrap_or_else(|| laggard_system::now().unix_ns());
        until.saturating_sub(self.incident.since_ns).max(0) / 60_000_000_000
    }
}

fn annotate_operation(finding: &Finding, add: &mut impl FnMut(&str, String)) {
    add("operations", finding.operations().collect::<Vec<&str>>().join(", "));
    add("replicas", finding.replicas.join(", "));
    let mut requests: Vec<String> = Vec::new();
    for category in &finding.categories {
        let request = format!("{} {}", category.service, category.operation);
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    add("requests", requests.join(", "));
    add("traces", finding.traces.join(", "));
}

fn annotate_server(finding: &ServerFinding, add: &mut impl FnMut(&str, String)) {
    let transactions = finding.transactions().iter().map(|cost| cost.transaction.as_str());
    add("transactions", transactions.collect::<Vec<&str>>().join(", "));
    add("replicas", finding.server.clone());
}

fn annotate_objective(finding: &ObjectiveFinding, add: &mut impl FnMut(&str, String)) {
    add("operations", finding.cause.as_ref().map_or_else(String::new, |cause| cause.operation.clone()));
    let operation = finding.operation.as_deref().unwrap_or_default();
    add("requests", format!("{} {operation}", finding.service).trim_end().to_owned());
}

impl Alert {
    /// The page with the evidence, with its windows: a path with a query.
    pub(crate) fn page(&self) -> String {
        let (window, baseline) = (self.window, self.baseline);
        match &self.finding {
            AlertFinding::Operation(_) => format!(
                "/verdict?since={}&until={}&baseline-since={}&baseline-until={}",
                time(window.since_ns),
                time(window.until_ns),
                time(baseline.since_ns),
                time(baseline.until_ns)
            ),
            AlertFinding::Objective(_) => "/objectives".to_owned(),
            AlertFinding::Server(finding) => {
                let page = match finding.kind() {
                    AlertKind::HigherCost | AlertKind::UnexplainedCpu => "changes",
                    AlertKind::LowCapacity => "capacity",
                    // No page shows memory or file systems.
                    _ => "alerts",
                };
                let server = match finding.server.as_str() {
                    name if page != "alerts" && !name.is_empty() => {
                        format!("&server={}", percent_encoded(name))
                    }
                    _ => String::new(),
                };
                format!("/{page}?since={}&until={}{server}", time(baseline.since_ns), time(window.until_ns))
            }
        }
    }
}

/// A name as the value of a parameter.
fn percent_encoded(name: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(encode).collect()
}

fn time(ns: i64) -> String {
    rfc3339(Timestamp::from_unix_ns(ns))
}

/// Labels or annotations that all alerts share.
fn common(alerts: &[Value], field: &str) -> Value {
    let mut all = alerts.iter().filter_map(|alert| alert[field].as_object());
    let first = all.next().cloned().unwrap_or_default();
    Value::Object(all.fold(first, |common, next| {
        common.into_iter().filter(|(name, value)| next.get(name) == Some(value)).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::SlowCategory;
    use super::super::lifecycle::AlertList;
    use super::super::lifecycle::tests::{evaluated, finding, rules, time as minute};
    use super::super::pending_notifications::{Recipient, pending};
    use super::*;

    fn notices() -> Vec<Notice> {
        let mut alerts = AlertList::default();
        for index in 0..3 {
            let mut evaluation = evaluated(&["read", "cart write"], index);
            // They meet nowhere: two incidents.
            evaluation.findings[1].replicas = vec!["cart-1".to_owned()];
            evaluation.findings[1].categories.clear();
            alerts.apply(&evaluation, rules(), minute(index));
        }
        alerts.incidents.iter_mut().for_each(|incident| incident.was_examined = true);
        let everything =
            Recipient { name: "webhook", repeat_after: None, confirm_end: None, is_for: &|_| true };
        pending(&alerts, everything, minute(3))
    }

    fn message(notices: Vec<Notice>) -> OutgoingMessage {
        OutgoingMessage {
            id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
            notices,
            may_have_arrived: false,
        }
    }

    static NO_OWNERS: Owners = Owners { all: Vec::new() };
    const WRITER: Writer<'_> =
        Writer { pages: "https://laggard.example", tenant: "shop", owners: &NO_OWNERS };

    #[test]
    fn requests_with_several_call_trees_are_named_once() {
        let mut finding = finding("read");
        let buy = finding.categories[0].clone();
        finding.categories.push(SlowCategory { operation: "pay".to_owned(), ..buy.clone() });
        finding.categories.push(buy);
        let mut annotations = std::collections::BTreeMap::new();
        annotate_operation(&finding, &mut |name, text| {
            annotations.insert(name.to_owned(), text);
        });
        assert_eq!(annotations["requests"], "web buy, web pay");
    }

    #[test]
    fn a_message_matches_alertmanagers_schema() {
        let message = WRITER.webhook("webhook", &message(notices()));
        assert_eq!((&message["version"], &message["status"]), (&json!("4"), &json!("firing")));
        assert_eq!(message["groupLabels"], json!({"alertname": "LaggardSlowOperation", "tenant": "shop"}));
        assert_eq!(message["commonLabels"]["tenant"], "shop");
        assert!(message["commonLabels"].get("service").is_none(), "they differ in it");
        let first = &message["alerts"][0];
        assert_eq!(first["labels"]["service"], "db");
        assert_eq!(first["annotations"]["operations"], "read");
        assert_eq!(first["endsAt"], "0001-01-01T00:00:00Z");
        assert_eq!(first["fingerprint"].as_str().unwrap().len(), 16);
        assert_ne!(first["fingerprint"], message["alerts"][1]["fingerprint"]);
        assert_eq!(
            first["annotations"]["summary"],
            "Operation `read` of `db` makes requests that meet it take 150 % longer: its calls on `db-1` take 3.0 times as long as before."
        );
        let link = first["generatorURL"].as_str().unwrap();
        assert!(link.starts_with("https://laggard.example/incidents/"), "{link}");
        let link = first["annotations"]["verdict"].as_str().unwrap();
        assert!(
            link.starts_with("https://laggard.example/verdict?since=2026-01-12T08:47:00.000Z&until="),
            "{link}"
        );
        assert!(link.contains("&baseline-since="), "{link}");
    }

    #[test]
    fn a_resolved_alert_has_its_time_and_reason() {
        let mut notice = notices().remove(0);
        notice.state = IncidentState::Closed;
        notice.incident.closed_ns = Some(minute(30).unix_ns());
        notice.alerts[0].ended = Some("requests are as fast as before".to_owned());
        let message = WRITER.webhook("exec", &message(vec![notice.clone()]));
        assert_eq!(message["status"], "resolved");
        assert_eq!(message["alerts"][0]["endsAt"], "2026-01-12T09:30:00.000Z");
        assert_eq!(message["alerts"][0]["annotations"]["resolved"], "requests are as fast as before");
        let sent = WRITER.alertmanager(&[notice], minute(60));
        assert_eq!(sent[0]["endsAt"], "2026-01-12T09:30:00.000Z");
    }

    #[test]
    fn a_firing_alert_expires_in_alertmanager() {
        let sent = WRITER.alertmanager(&notices(), minute(7));
        assert_eq!(sent.as_array().unwrap().len(), 2);
        assert_eq!(sent[1]["endsAt"], "2026-01-12T09:07:00.000Z");
        assert!(
            sent[0].get("status").is_none() && sent[0].get("fingerprint").is_none(),
            "its API has no such fields"
        );
    }

    #[test]
    fn hostile_names_are_escaped() {
        let mut notice = notices().remove(0);
        let mut hostile = finding("read");
        hostile.service = format!("a\u{1b}[31m\"}}\n{}", "x".repeat(5_000));
        notice.alerts[0].finding = AlertFinding::Operation(hostile);
        let message = WRITER.webhook("webhook", &message(vec![notice]));
        let service = message["alerts"][0]["labels"]["service"].as_str().unwrap();
        assert!(service.chars().count() == 1_000 && !service.chars().any(char::is_control));
    }
}
