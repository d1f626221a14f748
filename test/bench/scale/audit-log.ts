import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeAddress, recordedAddress } from './addresses.ts';

/** A request as the API server's audit log has it. */
export interface AuditedRequest {
  readonly userAgent: string;
  readonly verb: string;
  /** Path and query. */
  readonly uri: string;
  readonly source: string;
  /** The HTTP status. */
  readonly code: number;
  /** When the request came, in milliseconds since 1970. */
  readonly at: number;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly userAgent?: string;
  readonly requestURI: string;
  readonly sourceIPs?: readonly string[];
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** Returns the arguments that make kube-apiserver log every request with its caller. The directory must exist. */
export function auditLogArguments(directory: string): readonly string[] {
  const policy = join(directory, 'audit-policy.yaml');
  const rules = [{ level: 'Metadata' }];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(directory, 'audit.log')}`, '--audit-log-maxsize=10000'];
}

/** Reads the audit log in parts. */
export class AuditLog {
  readonly #file: string;
  #offset = 0;
  #rest = '';

  constructor(directory: string) {
    this.#file = join(directory, 'audit.log');
  }

  /** Returns the requests that were logged since the last call. A watch counts when it begins. */
  take(): AuditedRequest[] {
    const lines = `${this.#rest}${this.#read()}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return requestsIn(lines);
  }

  #read(): string {
    const file = openSync(this.#file, 'r');
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#offset);
      this.#offset += readSync(file, bytes, 0, bytes.length, this.#offset);
      return bytes.toString('utf8');
    } finally {
      closeSync(file);
    }
  }
}

/** A watch that was accepted is logged when it begins and when it ends; one that was refused only when it ends. */
export function requestsIn(lines: readonly string[]): AuditedRequest[] {
  return lines.flatMap((line): AuditedRequest[] => {
    const {
      stage,
      verb,
      userAgent = '',
      requestURI: uri,
      sourceIPs = [],
      responseStatus,
      requestReceivedTimestamp,
    } = JSON.parse(line) as AuditEvent;
    const code = responseStatus?.code ?? 0;
    // A refused watch is logged at both stages, too.
    const stageOfIts = verb === 'watch' && code < 400 ? 'ResponseStarted' : 'ResponseComplete';
    if (stage !== stageOfIts) return [];
    return [{ userAgent, verb, uri, source: sourceIPs[0] ?? '', code, at: Date.parse(requestReceivedTimestamp) }];
  });
}

export const isWrite = ({ verb }: AuditedRequest): boolean => !['get', 'list', 'watch'].includes(verb);

/** Returns the program that sent a request. */
export function programOf({ userAgent, source }: AuditedRequest): string {
  const name = /^[\w-]+/.exec(userAgent)?.[0] ?? 'unknown';
  return name === 'herald-agent' && source === recordedAddress ? 'herald-agent (recorded)' : name;
}

/** Counts requests by program and verb. */
export function byProgramAndVerb(requests: readonly AuditedRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of requests) {
    const key = `${programOf(request)} ${request.verb}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Returns verb, path and query without what differs between two agents and between two moments. */
export function shapeOf({ verb, uri }: Pick<AuditedRequest, 'verb' | 'uri'>): string {
  const { pathname, searchParams } = new URL(uri, 'http://x');
  const query = [...searchParams]
    .map(([name, value]) => {
      if (name === 'timeoutSeconds' || name === 'continue') return `${name}=*`;
      return name === 'resourceVersion' ? `${name}=${value === '0' ? '0' : '*'}` : `${name}=${value}`;
    })
    .toSorted();
  return `${verb} ${pathname.replace(/\/nodestates\/[^/]+/, '/nodestates/NODE')}?${query.join('&')}`;
}

export const isOfRealAgent =
  (index: number) =>
  ({ source }: AuditedRequest): boolean =>
    source === nodeAddress(index);

/** Returns the number of collections that these requests watch. */
export function watchedBy(requests: readonly AuditedRequest[]): number {
  const watches = requests.filter(({ verb, code, userAgent }) => verb === 'watch' && code === 200 && userAgent.startsWith('herald-agent'));
  const collections = watches.map(({ uri }) => {
    const { pathname, searchParams } = new URL(uri, 'http://x');
    return [pathname, searchParams.get('fieldSelector'), searchParams.get('labelSelector')].join(' ');
  });
  return new Set(collections).size;
}
