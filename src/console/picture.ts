import type { Verdict } from '../decisions/verdict/verdict.ts';
import type { CheckReport } from '../explain/check/facts.ts';
import type { NameOf } from '../explain/check/matrix.ts';
import type { MergedHistory } from '../explain/history/merged-history.ts';
import type { Overview } from '../explain/overview/overview.ts';
import type { Problem } from '../explain/overview/problem.ts';
import type { Plan } from '../explain/plan/plan.ts';
import type { LiveNodes } from '../explain/sessions/live-view.ts';
import type { HistoryKind } from '../live/contract.ts';
import type { Condition } from '../model/objects/condition.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { OutsideResource } from '../model/objects/outside-resource.ts';
import type { ReleasedAddress } from '../model/parse/released-address.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { ServiceExplanation } from '../explain/service/service.ts';
import type { LookedAtEndpoint } from '../explain/service/endpoint-looks.ts';
import type { Note, ReadingFacts } from './contract.ts';

/** Everything that was read at one moment, with the answers of agents in place of their reports. */
export interface Picture {
  readonly from: string;
  readonly kind: 'cluster' | 'directory' | 'manifests';
  readonly snapshot: Snapshot;
  readonly live: LiveNodes;
  /** By which the age of reports is measured, in milliseconds since the epoch. */
  readonly now: number;
  readonly notes: readonly Note[];
  readonly services: ReadonlyMap<ServiceKey, ServiceState>;
  /** By `herald explain`, of each Service of type LoadBalancer and each with a state. Absent: there are too many to explain. */
  readonly verdicts: ReadonlyMap<ServiceKey, BriefVerdict>;
  /** Addresses that pools keep for a Service of the same name. They may have expired. */
  readonly released: readonly ReleasedAddress[];
  readonly overview: Overview;
  readonly problems: readonly Problem[];
}

/** A verdict, without its line where that says no more than addresses and nodes. */
export type BriefVerdict = Omit<Verdict, 'line'> & Partial<Pick<Verdict, 'line'>>;

/** The recorded or computed state of a Service. */
export interface ServiceState {
  readonly conditions: readonly Condition[];
}

/** A Service as `herald explain service` explains it. */
export interface ExplainedService extends Pick<ReadingFacts, 'from' | 'kind' | 'at'> {
  readonly explanation: ServiceExplanation;
  readonly endpoints: readonly LookedAtEndpoint[];
  /** The command prints these lines, and under `-o wide` the others. */
  readonly lines: readonly string[];
  readonly wideLines: readonly string[];
  /** True when the caller may have the nodes check it. */
  readonly mayCheck: boolean;
  /** Why it is explained from the last picture, of the time `at`. Absent: from what is there now. */
  readonly stale?: string;
}

/** What connections to a Service showed. */
export interface CheckedService {
  readonly report: CheckReport;
  readonly nameOf: NameOf;
  /** `herald check service` prints these lines. */
  readonly lines: readonly string[];
  /** When it ended, RFC 3339. */
  readonly at: string;
}

/** Effects of manifests if they were applied, as `herald plan` computes them. */
export interface PlannedChanges extends Pick<ReadingFacts, 'from' | 'kind' | 'at'> {
  readonly changes: Plan;
  /** Problems of the manifests. */
  readonly notes: readonly Note[];
  /** The command prints these lines. */
  readonly lines: readonly string[];
  /** Lines of `lines` that sum it up. */
  readonly summary: readonly string[];
  /** Lines of `lines` about providers and their calls. */
  readonly outside: readonly string[];
}

/** Resources outside the cluster that exist for Services, as their providers see them. */
export interface OutsideResources {
  readonly services: readonly { readonly service: ServiceKey; readonly resources: readonly OutsideResource[] }[];
  /** Why something is missing. */
  readonly notes: readonly string[];
}

/** Of one object, of all objects of a kind, or of everything. */
export interface HistoryQuestion {
  readonly kind?: HistoryKind;
  /** Only with `kind`. */
  readonly name?: string;
  /** RFC 3339. */
  readonly since?: string;
}

export type RecalledHistory = Omit<MergedHistory, 'kind' | 'name'>;

/** Where the console gets its facts: the functions behind `herald status`, `explain`, `history` and `plan`. Nothing here changes anything. */
export interface Facts {
  /** The pause between two reads, at least. */
  readonly intervalMilliseconds: number;
  /** Reads everything. Returns the last picture when nothing changed. Rejects with an error whose message is for people. */
  read(): Promise<Picture>;
  /** Resolves when something changed since the last read. Absent: a change is found by the next read alone. */
  readonly changed?: (() => Promise<void>) | undefined;
  /** Explains a Service. Undefined: there is none of this name. */
  explain(service: ServiceKey): Promise<ExplainedService | undefined>;
  /** Returns why a Service that exists is not explained: its errors, or the kinds that may not be read. Empty: nothing is known of it. */
  whyUnexplained(service: ServiceKey): readonly string[];
  /** Reads the resources of providers outside the cluster. It may return those of the last reading. */
  outside(): Promise<OutsideResources>;
  /** Has the nodes open connections to a Service, with the rights of the caller. It changes nothing. Undefined: there is none of this name. */
  check(service: ServiceKey): Promise<CheckedService | undefined>;
  /** Plans manifests (YAML or JSON) against what was read last. They are written nowhere. */
  plan(manifests: string): Promise<PlannedChanges>;
  /** Returns what running processes remember. */
  history(question: HistoryQuestion): Promise<RecalledHistory>;
  /** Returns a value without its secrets, as in a bundle. */
  redact(value: unknown): unknown;
}
