import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One request to the API server. */
export interface AuditedCall {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  /** Includes the subresource: "services/status". */
  readonly resource: string;
  readonly namespace: string;
  /** The name of the object; empty when the request is about more than one. */
  readonly name: string;
  /** The HTTP status of the answer. */
  readonly code: number;
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
}

/** Returns the arguments that make kube-apiserver log every request with its caller and its answer. The directory must exist. */
export function auditArguments(directory: string): readonly string[] {
  const policy = join(directory, 'audit-policy.yaml');
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }));
  // A larger file than the default of 100 MB, because kube-apiserver begins a new one at that size.
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(directory, 'audit.log')}`, '--audit-log-maxsize=10000'];
}

/**
 * Returns the requests that kube-apiserver got at `since` or later (ISO 8601). An earlier request can be logged later, when its connection ends.
 * `offset`: where in the file they begin.
 */
export function auditedCalls(
  directory: string,
  { offset, since }: { readonly offset: number; readonly since: string },
): readonly AuditedCall[] {
  return textFrom(join(directory, 'audit.log'), offset)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ requestReceivedTimestamp }) => requestReceivedTimestamp >= since)
    .map(({ verb, user, objectRef = {}, responseStatus }) => {
      const { apiGroup = '', resource = '', subresource, namespace = '', name = '' } = objectRef;
      const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
      return { user: user.username, verb, group: apiGroup, resource: whole, namespace, name, code: responseStatus?.code ?? 0 };
    });
}

function textFrom(file: string, offset: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const text = Buffer.alloc(fstatSync(descriptor).size - offset);
    return text.toString('utf8', 0, readSync(descriptor, text, 0, text.length, offset));
  } finally {
    closeSync(descriptor);
  }
}
