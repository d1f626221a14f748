import { readFileSync, writeFileSync } from 'node:fs';
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
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(directory, 'audit.log')}`];
}

export function auditedCalls(directory: string): readonly AuditedCall[] {
  const lines = readFileSync(join(directory, 'audit.log'), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const { verb, user, objectRef = {}, responseStatus } = JSON.parse(line) as AuditEvent;
    const { apiGroup = '', resource = '', subresource, namespace = '', name = '' } = objectRef;
    const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
    return { user: user.username, verb, group: apiGroup, resource: whole, namespace, name, code: responseStatus?.code ?? 0 };
  });
}
