// Written by `cargo xtask docs` from the OpenAPI document; do not edit.

/** A kind of alert. */
export type AlertKind = "slow_operation" | "higher_cost" | "unexplained_cpu" | "low_capacity" | "memory_full" | "disk_full" | "budget_burn";

/** A receiver of notifications. */
export interface AlertReceiverRow {
  failed: number; name: string; sent: number;
}

/** One alert. */
export interface AlertRow {
  baseline: Interval; categories: SlowCategory[]; effect_ns: number; ended?: string | null;
  evidence?: ServerEvidence | null; factor?: number | null; fired_ns?: number | null; first_ns: number; id: string;
  kind: AlertKind; objective?: string | null; operation: string; other_operations: string[]; page: string;
  replicas: string[]; requests_hit: number; requests_seen: number; resolved_ns?: number | null; server?: string | null;
  service: string; since_ns: number; slower: number; state: AlertState; summary: string; traces: string[];
  window: Interval;
}

/** The state of an alert. */
export type AlertState = "pending" | "firing" | "resolved";

/** Alerts, and the progress of detection. */
export interface Alerts {
  alerts: AlertRow[]; enabled: boolean; every_ns: number; firing: number; last?: EvaluationRecord | null;
  last_evaluated?: EvaluationRecord | null; last_servers?: EvaluationRecord | null; omitted: number; pending: number;
  receivers: AlertReceiverRow[]; window_ns: number;
}

/** A time in which the latency of a category was dispersed or had a heavy tail. */
export interface Anomaly {
  category: string; operation: string; reason: string; service: string; since_ns: number; until_ns: number;
}

/** Attributes of the requests of a window. */
export interface AttributeList {
  attributes: AttributeRow[]; omitted: number;
}

/** An attribute. */
export interface AttributeRow {
  name: string; omitted: number; values: AttributeValue[];
}

/** A value of an attribute. */
export interface AttributeValue {
  requests: number; value: string;
}

/** An axis from its lower to its upper end. */
export interface Axis {
  from: number; scale: Scale; ticks: Tick[]; to: number;
}

/** A part of a section. */
export interface Block {
  content: BlockContent; detail?: Detail; fold: Fold; id?: string | null; title?: Prose;
}

/** The content of a block. */
export type BlockContent = Sentences & { type: "sentences"; } | Table & { type: "table"; } | Table & { type: "tree"; } | HeatMap & { type: "heat-map"; } | Chart & { type: "chart"; } | Timeline & { type: "timeline"; } | Flame & { type: "flame"; };

/** Burn rates over time. */
export interface BurnHistory {
  burn_rate: (number | null)[]; since_ns: number; step_ns: number;
}

/** The burn rate over one window. */
export interface BurnRate {
  bad: number; rate?: number | null; requests: number; window_ns: number;
}

/** Figures of calls. */
export interface CallFigures {
  call_errors: number; call_p50_ns?: number | null; call_p99_ns?: number | null; calls: number;
}

/** One end of a call. */
export interface CallName {
  kind: string; operation: string; service: string;
}

/** Categories of a window. */
export interface CategoryList {
  categories: CategoryRow[]; omitted: number;
}

/** One category. */
export interface CategoryRow {
  anomalous: boolean; cv: number; errors: number; id: string; operation: string; p50_ns?: number | null;
  p99_ns?: number | null; positions: number; reason?: string | null; requests: number; service: string;
}

/** The call tree of a category. */
export interface CategoryTree {
  id: string; operation: string; positions: TreePosition[]; requests: number; service: string;
}

/** A class of causes. */
export type CauseClass = "code" | "configuration" | "load" | "machine" | "foreign-load" | "network" | "waiting" | "dependency" | "errors" | "data" | "uneven-load" | "unknown";

/** A value as people read it, with what sorts it. */
export interface Cell {
  graphic?: Graphic | null; kind: CellKind; text: Prose; tone?: Tone; value?: number | null;
}

/** The kind of a cell's value, with its unit. */
export type CellKind = "text" | "name" | "count" | "duration" | "time" | "factor" | "share" | "p-value" | "number" | "graphic";

/** How certain a statement is. */
export type Certainty = "possible" | "likely" | "shown";

/** Panels under each other over one horizontal axis. */
export interface Chart {
  caption: string; legend: LegendEntry[]; marks: ChartMark[]; panels: Panel[]; readout: boolean; x: Axis;
}

/** Something at a horizontal position, or from one to another. */
export interface ChartMark {
  color: Color; from: number; label?: string; style: MarkStyle; to: number; words?: string;
}

/** One statement about an incident. */
export interface Clause {
  certainty: Certainty; kind: ClauseKind; sources: EvidenceSource[]; text: string;
}

/** The topic of a clause, in reading order. */
export type ClauseKind = "what" | "where" | "since" | "impact" | "cause" | "change" | "capacity" | "wait" | "history" | "contradiction" | "ruled-out";

/** A color of the palette, as the name of a style sheet's class. */
export type Color = string;

/** A column. */
export interface Column {
  detail: Detail; kind: ColumnKind; title: string;
}

/** How the cells of a column are laid out. */
export type ColumnKind = "name" | "number" | "text" | "prose" | "graphic";

/** Which outputs show something. */
export type Detail = "summary" | "full" | "page";

/** Something that more or fewer of the selected requests have. */
export interface Difference {
  kind: DifferenceKind; name: string; p_value: number; rest: number; rest_share: number; selected: number;
  selected_share: number; service: string; value: string;
}

/** What a request has or has not. */
export type DifferenceKind = "attribute" | "replica" | "operation" | "error";

/** A report, ready to be shown. */
export interface Document {
  figures: Figure[]; headline: Prose; remarks?: Prose[]; sections: Section[]; time?: string | null; tone: Tone;
  verdict: string; window?: Window | null;
}

/** How much a row matters. */
export type Emphasis = "usual" | "worse" | "better" | "way" | "aside";

/** The outcome of an evaluation. */
export type EvaluationOutcome = "evaluated" | "nothing_new" | "old_data" | "too_little_data" | "too_much_data" | "busy" | "elsewhere" | "unreadable" | "failed";

/** One evaluation. */
export interface EvaluationRecord {
  at_ns: number; baseline?: Interval | null; outcome: EvaluationOutcome; sampled_one_in: number; text: string;
  took_ns: number; window?: Interval | null;
}

/** An attribute of something logged. */
export interface EventAttribute {
  name: string; value: string;
}

/** Deployments and other changes of the system. */
export interface EventList {
  damaged: number; events: ListedEvent[]; omitted: number;
}

/** The source of a piece of evidence. */
export type EvidenceSource = "traces" | "samples" | "events" | "kernel" | "history";

/** A number at the top of a page. */
export interface Figure {
  name: string; remark?: string; value: Cell;
}

/** Figures of a group. */
export interface Figures {
  errors: number; p50_ns?: number | null; p99_ns?: number | null; requests: number;
}

/** A choice to hide rows that are aside. */
export interface Filter {
  active: boolean; label: string;
}

/** Nested frames: widths are shares of the whole, callers stand above what they call. */
export interface Flame {
  caption: string; frames: Frame[]; legend: LegendEntry[];
}

/** Whether a page folds a block. */
export type Fold = "never" | "open" | "closed" | "alternative";

/** One frame. */
export interface Frame {
  color: Color; depth: number; from: number; label: Prose; width: number; words: string;
}

/** When a resource will be full. */
export interface FullTime {
  device: string; earliest_ns: number; full_ns: number; growth_an_hour: number; latest_ns?: number | null; used: number;
}

/** A small picture in a cell, drawn on the scale of its column. */
export interface Graphic {
  marks: GraphicMark[];
}

/** A shape of a `Graphic`. Positions are shares of the column's width, 0 to 1. */
export interface GraphicMark {
  color: Color; from: number; lane: Lane; shape: GraphicShape; to: number;
}

/** The shape of a mark. */
export type GraphicShape = "bar" | "line" | "dot" | "ring" | "tick";

/** One cell. */
export interface HeatCell {
  color: Color; framed?: boolean; pale?: boolean; symbol?: string | null; words?: string;
}

/** Colored cells in rows and columns. */
export interface HeatMap {
  caption: string; cells: (HeatCell | null)[]; columns: Prose[]; empty_label?: string; frame_label?: string;
  legend: LegendEntry[]; rows: Prose[];
}

/** Result of an import. */
export interface Imported {
  calls: number; events: number; kept_until_ns?: number | null; losses: Record<string, LossRow>; samples: number;
  spans: number;
}

/** An alert of an incident. */
export interface IncidentAlert {
  ended?: string | null; id: string; kind: AlertKind; page: string; resolved_ns?: number | null; since_ns: number;
  state: AlertState; summary: string;
}

/** One statement with its evidence. */
export type IncidentClause = Clause & { page?: string | null; title: string; };

/** The state that a receiver was last notified of. */
export interface IncidentReceiver {
  at_ns: number; state: IncidentState;
}

/** An incident. */
export interface IncidentRow {
  alerts: IncidentAlert[]; class?: CauseClass | null; clauses: IncidentClause[]; closed_ns?: number | null;
  headline: string; id: string; is_silenced: boolean; notified: Record<string, IncidentReceiver>; opened_ns: number;
  owner?: string | null; since_ns: number; state: IncidentState; subject: string; verdict_ns?: number | null;
}

/** The state of an incident. */
export type IncidentState = "open" | "closed";

/** Incidents. */
export interface Incidents {
  damaged: number; incidents: IncidentRow[]; omitted: number; open: number;
}

/** An interval of time, both ends included. */
export interface Interval {
  since_ns: number; until_ns: number;
}

/** The address of a job. */
export interface JobCreated {
  href: string; job: string;
}

/** A job as it stands. */
export interface JobDocument {
  created_ns: number; done: number; id: string; problem?: string | null; question: string; stage: string;
  state: JobState; total: number; verdict?: string | null;
}

/** Jobs that are known. */
export interface JobList {
  jobs: JobDocument[];
}

/** The state of a job. */
export type JobState = "waiting" | "running" | "done" | "failed" | "cancelled";

/** A part of a row's height. */
export type Lane = "full" | "thin" | "upper" | "lower";

/** Requests by start and latency. */
export interface LatencyMap {
  column_ns: number; columns: number; counts: number[][]; edges_ns: number[]; requests: number; since_ns: number;
}

/** Meaning of a color in one picture. */
export interface LegendEntry {
  color: Color; label: string; symbol?: string;
}

/** A horizontal line with a label. */
export interface Level {
  at: number; color: Color; label: string;
}

/** One event. */
export type ListedEvent = SystemEvent & { summary: string; };

/** How often something was lost, repaired, or doubtful. */
export interface LossRow {
  count: number; example: string;
}

/** A service. */
export type MappedService = CallFigures & { name: string; };

/** How a mark is drawn. */
export type MarkStyle = "line" | "dashed" | "pin" | "area";

/** A column of the matrix. */
export interface MatrixColumn {
  flagged: boolean; operation: string; position: number; service: string;
}

/** A row of the matrix. */
export interface MatrixRow {
  latency_ns: number; start_ns: number; trace: string;
}

/** A remark on a row. */
export interface Note {
  detail: Detail; label?: string; text: Prose;
}

/** An alert of an objective. */
export interface ObjectiveAlert {
  id: string; severity: ObjectiveSeverity; since_ns: number; state: AlertState; summary: string;
}

/** The slow operation that uses up an error budget. */
export interface ObjectiveCause {
  alert: string; bad: number; explained: number; operation: string; page: string; service: string;
}

/** The figures of an objective over its period. */
export interface ObjectiveFigures {
  bad: number; budget: number; budget_left?: number | null; burn_rates: BurnRate[]; covered_ns: number;
  good_share?: number | null; history: BurnHistory; incomplete: number; represented: number; requests: number;
  since_ns?: number | null; uncounted: number;
}

/** One objective. */
export type ObjectiveRow = ObjectiveFigures & { alerts: ObjectiveAlert[]; cause?: ObjectiveCause | null; limit_ns?: number | null; name: string; operation?: string | null; period_ns: number; service: string; target: number; without_error: boolean; };

/** How urgent it is that an error budget is used up. */
export type ObjectiveSeverity = "page" | "ticket";

/** All objectives of a tenant. */
export interface Objectives {
  at_ns: number; objectives: ObjectiveRow[];
}

/** One operation. */
export type OperationRow = Figures & { kind: string; operation: string; replicas: number; service: string; };

/** Operations by which requests enter. */
export interface Operations {
  omitted: number; operations: OperationRow[];
}

/** Services over time. */
export interface Overview {
  anomalies: Anomaly[]; bin_ns: number; bins: number; omitted: number; services: ServiceOverTime[]; since_ns: number;
}

/** A page of the service; documents outside of it show the text alone. */
export type PageLink = { id: string; position?: number | null; to: "category"; } | { id: string; suspect?: TraceSuspect | null; to: "trace"; } | { since_ns: number; to: "diagnosis"; until_ns: number; } | { delimiter: string; to: "executions"; };

/** One picture of a chart. */
export interface Panel {
  height: number; levels: Level[]; marks: ChartMark[]; series: Series[]; title: string; y: Axis;
}

/** The document. */
export interface ProblemDocument {
  detail: string; status: number; title: string; type: string;
}

/** A problem that needs attention. */
export interface ProblemRow {
  blocks: boolean; name: string; since_ns: number; text: string;
}

/** Text made of spans. In JSON it is the list of its spans. */
export type Prose = Span[];

/** One receiver. */
export interface ReceiverRow {
  address: string; bytes: number; deferred: number; events: number; name: string; refused: number; rejected: number;
  requests: number; samples: number; spans: number;
}

/** Latencies of the calls of a service by replica. */
export interface ReplicaLatencies {
  edges_ns: number[]; omitted: number; replicas: ReplicaLatencyRow[];
}

/** Latencies of the calls on a replica. */
export interface ReplicaLatencyRow {
  calls: number; counts: number[]; errors: number; p50_ns: number; p99_ns: number; replica: string;
}

/** Replicas that run a version. */
export interface ReplicasRunning {
  of: number; replicas: number;
}

/** A request x invocation matrix: a row a request, a column a position. Nanoseconds of self time. */
export interface RequestMatrix {
  converged: boolean; id: string; low_rank: number[][]; omitted_positions: number; omitted_requests: number;
  original: number[][]; positions: MatrixColumn[]; requests: MatrixRow[]; sparse: number[][];
}

/** How values become positions. */
export type Scale = "linear" | "log" | "time";

/** Traces that match. */
export interface SearchResult {
  omitted: number; scanned: number; traces: TraceSummary[];
}

/** Blocks under a title. */
export interface Section {
  blocks: Block[]; detail?: Detail; id: string; introduction?: string; remark?: string; title: string; tone?: Tone;
}

/** How the selected requests differ from the others of the window. */
export interface SelectionComparison {
  differences: Difference[]; level: number; omitted: number; omitted_operations: number; operations: SlowerOperation[];
  rest: number; rest_compared: number; selected: number; selected_compared: number;
}

/** Sentences of one sort. */
export interface Sentences {
  label?: string; sentences: Prose[]; tone?: Tone;
}

/** Points that belong together. All lists that are not empty have the same length. */
export interface Series {
  color: Color; low?: (number | null)[]; name: string; shape: SeriesShape; unit?: string; words?: string[]; x: number[];
  x_end?: number[]; y: (number | null)[];
}

/** How a series is drawn. */
export type SeriesShape = "line" | "dashed" | "dotted" | "band" | "bars" | "dots" | "rings";

/** A problem of a server. */
export type ServerEvidence = { cores: number; factor?: number | null; kind: "higher_cost"; relative: number; share: number; transactions: TransactionCost[]; } | { cores: number; kind: "unexplained_cpu"; share: number; times_known: boolean; } | { clients_left?: number | null; growth: number; kind: "low_capacity"; reserve: number; utilization: number; } | FullTime & { kind: "memory_full"; } | FullTime & { kind: "disk_full"; };

/** The calls from one service to another. */
export type ServiceLink = CallFigures & { callee: string; caller: string; };

/** Services and the calls between them. */
export interface ServiceMap {
  links: ServiceLink[]; omitted: number; omitted_links: number; services: MappedService[];
}

/** Requests that enter at a service, by bin. */
export interface ServiceOverTime {
  errors: number[]; name: string; p50_ns: (number | null)[]; p99_ns: (number | null)[]; requests: number[];
}

/** One service. */
export type ServiceRow = Figures & CallFigures & { name: string; operations: number; replicas: number; };

/** All services. */
export interface Services {
  omitted: number; services: ServiceRow[];
}

/** One setting: what it means, what is allowed, and where its default comes from. */
export interface SettingEntry {
  allowed: string; choices: string[]; default: string; description: string; group: string; kind: string;
  maximum?: number | null; minimum?: number | null; name: string; source: string; unit: string;
}

/** The settings of a question. */
export interface SettingsListing {
  question: string; settings: SettingEntry[];
}

/** Requests of one call tree. */
export interface SlowCategory {
  id: string; operation: string; service: string;
}

/** An operation whose own time differs. */
export interface SlowerOperation {
  chance: number; kind: string; operation: string; p_value: number; rest: number; rest_p50_ns: number; selected: number;
  selected_p50_ns: number; service: string;
}

/** Text of one style. Control characters and direction marks are spelled out. */
export interface Span {
  link?: string | null; page?: PageLink | null; style?: SpanStyle; text: string;
}

/** The style of a span. Names come from the input; outputs may shorten them. */
export type SpanStyle = "plain" | "strong" | "faint" | "name" | "service" | "operation" | "replica" | "label" | "category" | "trace";

/** Ingest, storage, and problems. */
export interface Status {
  alerts_firing: number; events_expired: number; events_stored: number; incidents_open: number; log_bytes: number;
  losses: Record<string, LossRow>; newest_ns?: number | null; now_ns: number; oldest_ns?: number | null;
  open_bytes: number; open_spans: number; open_traces: number; problems: ProblemRow[]; ready: boolean;
  receivers: ReceiverRow[]; samples_expired: number; segment_bytes: number; segments: number; spans_expired: number;
  spans_received: number; spans_stored: number; started_ns: number; version: string;
}

/** Outcome of a request. */
export type StatusName = "unset" | "ok" | "error";

/** A deployment or another change of the system. */
export type SystemEvent = SystemEventTime & { kind: SystemEventKind; replicas?: number | null; running?: ReplicasRunning | null; service: string; source: SystemEventSource; text?: string; version?: string | null; zone?: string | null; };

/** A kind of change. */
export type SystemEventKind = "deployment" | "scaling" | "configuration" | "other";

/** How an event is known. */
export type SystemEventSource = "declared" | "spans";

/** When the system was changed. */
export interface SystemEventTime {
  time: string; time_ns: number;
}

/** Rows and columns. */
export interface Table {
  caption: string; columns: Column[]; filter?: Filter | null; legend?: LegendEntry[]; omitted: number; preview: number;
  rows: TableRow[];
}

/** A row: one cell for each column, and notes about the row. */
export interface TableRow {
  cells: Cell[]; depth: number; emphasis?: Emphasis; notes?: Note[];
}

/** A labeled position. */
export interface Tick {
  at: number; label: string;
}

/** Lanes of colored segments over time. Times are nanoseconds from its start. */
export interface Timeline {
  caption: string; elapsed_ns: number; jumps: TimelineJump[]; lanes: Prose[]; legend: LegendEntry[];
  segments: TimelineSegment[];
}

/** A line from one lane to another. */
export interface TimelineJump {
  at_ns: number; dashed: boolean; from: number; to: number;
}

/** One segment of a lane. */
export interface TimelineSegment {
  color: Color; from_ns: number; lane: number; symbol: string; to_ns: number; words?: string;
}

/** Meaning for the reader; shown by color, never by color alone. */
export type Tone = "neutral" | "bad" | "good" | "warning" | "unsure";

/** One trace. */
export interface TraceDocument {
  events_without_span: number; losses: Record<string, LossRow>; omitted: number; requests: TraceRequest[];
  spans: TraceSpan[]; trace: string;
}

/** An event of a span, or something logged during it. */
export interface TraceEvent {
  attributes?: EventAttribute[]; body: string; name: string; severity: string; severity_number: number; time_ns: number;
}

/** One request of a trace. */
export interface TraceRequest {
  category?: string | null; complete: boolean; latency_ns: number; start_ns: number;
}

/** One span. */
export interface TraceSpan {
  depth: number; events?: TraceEvent[]; inclusive_ns: number; kind: string; operation: string; parent?: string | null;
  path_ns: number; replica: string; self_ns: number; service: string; span: string; start_ns: number;
  status: StatusName;
}

/** A trace with a request that was searched for. */
export interface TraceSummary {
  category?: string | null; latency_ns: number; operation: string; service: string; spans: number; start_ns: number;
  status: StatusName; trace: string;
}

/** What to look at in a trace: the calls of an operation. */
export interface TraceSuspect {
  operation: string; service: string; usual?: Window | null;
}

/** The cost of one transaction of a type. */
export interface TransactionCost {
  demand_high_s: number; demand_low_s: number; demand_s: number; distinguishable: boolean;
  service_time_error_s?: number | null; service_time_s?: number | null; transaction: string;
}

/** One position of the tree. Times are of single calls. */
export interface TreePosition {
  calls_mean: number; inclusive_p50_ns?: number | null; inclusive_p99_ns?: number | null; kind: string;
  operation: string; parent?: number | null; position: number; replicas: number; self_p50_ns?: number | null;
  self_p99_ns?: number | null; service: string;
}

/** The calls of an operation from one caller, in complete requests. */
export interface UsualCall {
  callee: CallName; caller?: CallName | null; calls: number; inclusive_p50_ns: number; inclusive_p95_ns: number;
  self_p50_ns: number;
}

/** The times that calls like those of a trace take. */
export interface UsualCalls {
  calls: UsualCall[]; omitted: number; since_ns: number; until_ns: number;
}

/** A span of time; both ends as nanoseconds since the Unix epoch and as RFC 3339 text. */
export interface Window {
  since: string; since_ns: number; until: string; until_ns: number;
}
