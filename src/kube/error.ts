import { defined } from '../lang/defined.ts';
import { isRecord } from '../lang/is-record.ts';
import { limits } from './limits.ts';

/**
 * Why a request to the API server failed.
 *
 * - `unreachable`: no connection, or it broke. `untrusted`: TLS; the server is not the one that we expect.
 * - `credentials`: ours cannot be read or got no response. `unauthorized`, `forbidden`, `notFound`, `conflict`, `gone` (410), `busy` (429),
 *   `refused` (any other 4xx), `failing` (5xx): the API server's response.
 * - `notLeading`: the request was not sent, because another controller may lead.
 * - `stalled`: nothing arrived for too long. `malformed`: the response is not what the API specifies, or exceeds its bound.
 */
export type KubeErrorCode =
  | 'unreachable'
  | 'untrusted'
  | 'credentials'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'gone'
  | 'busy'
  | 'refused'
  | 'failing'
  | 'notLeading'
  | 'stalled'
  | 'malformed';

interface Details extends ErrorOptions {
  /** HTTP status. Absent without a response. */
  readonly status?: number;
  /** The pause that the API server asks for. */
  readonly retryAfterMilliseconds?: number;
  /** The fix for operators. */
  readonly fix?: string;
  /** The namespace of the request is being deleted, or does not exist. */
  readonly namespaceEnds?: boolean;
}

export class KubeError extends Error {
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly retryAfterMilliseconds: number | undefined;
  readonly fix: string;
  readonly namespaceEnds: boolean;

  constructor(
    code: KubeErrorCode,
    message: string,
    { status, retryAfterMilliseconds, fix = '', namespaceEnds = false, ...options }: Details = {},
  ) {
    super(message, options);
    this.name = 'KubeError';
    this.code = code;
    this.status = status;
    this.retryAfterMilliseconds = retryAfterMilliseconds;
    this.fix = fix;
    this.namespaceEnds = namespaceEnds;
  }
}

/** Resolves to undefined where the request fails with one of these codes. */
export async function undefinedOn<T>(request: Promise<T>, ...codes: readonly KubeErrorCode[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof KubeError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** Builds the error of an HTTP response. `message` and `details` are those of its metav1.Status, when it has one. */
export function answerError(status: number, message: string, retryAfter?: string, details?: unknown): KubeError {
  const seconds = Number(retryAfter ?? Number.NaN);
  const retryAfterMilliseconds = Number.isFinite(seconds)
    ? Math.min(limits.retryAfterMaximumMilliseconds, Math.max(0, seconds) * 1000)
    : undefined;
  const said = message === '' ? '' : `: ${message.slice(0, limits.quoted)}`;
  const code = codes[status] ?? (status >= 500 ? 'failing' : 'refused');
  const namespaceEnds = isNamespaceEnding(status, details);
  const fix = namespaceEnds ? undefined : fixes[code];
  return new KubeError(code, `the API server answered ${status}${said}`, {
    status,
    namespaceEnds,
    ...defined({ retryAfterMilliseconds, fix }),
  });
}

/**
 * True for a refusal that the end of a namespace causes. While it is being deleted, the API server answers 403 with the cause
 * NamespaceTerminating (admission plugin NamespaceLifecycle); afterwards it answers 404 about the namespace itself.
 */
function isNamespaceEnding(status: number, details: unknown): boolean {
  if (!isRecord(details)) return false;
  if (status === 404) return details['kind'] === 'namespaces';
  const { causes } = details;
  return status === 403 && Array.isArray(causes) && causes.some((cause) => isRecord(cause) && cause['reason'] === 'NamespaceTerminating');
}

const codes: Readonly<Record<number, KubeErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  409: 'conflict',
  410: 'gone',
  429: 'busy',
};

const fixes: Partial<Record<KubeErrorCode, string>> = {
  unauthorized: 'check that the credentials are of this cluster and have not expired',
  forbidden: 'apply the RBAC manifests of this version, manifests/base',
};

/** Builds the error of a connection that failed or broke, from Node's system and TLS codes. */
export function connectionError(
  error: NodeJS.ErrnoException,
  {
    server: { host: server },
    whenUnreachable: fix = '',
  }: { readonly server: { readonly host: string }; readonly whenUnreachable?: string },
): KubeError {
  if (error instanceof KubeError) return error;
  const code = error.code ?? '';
  const tls = untrusted[code];
  if (tls !== undefined) return new KubeError('untrusted', `${server}: ${tls.says}`, { cause: error, fix: tls.fix });
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    const options = { cause: error, fix: 'check the port of the server' };
    return new KubeError('untrusted', `${server} does not speak TLS as we do (${code})`, options);
  }
  return new KubeError('unreachable', `${server}: ${unreachable[code] ?? (code === '' ? error.message : code)}`, { cause: error, fix });
}

const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was reset',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'the name is not known to DNS',
  EAI_AGAIN: 'DNS does not answer',
};

const otherAuthority = {
  says: 'its certificate is not signed by the authority that we were given',
  fix: 'check certificate-authority of the kubeconfig, or ca.crt beside the token of the service account',
};

const untrusted: Readonly<Record<string, { readonly says: string; readonly fix: string }>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: otherAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: otherAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: otherAuthority,
  CERT_SIGNATURE_FAILURE: otherAuthority,
  CERT_HAS_EXPIRED: { says: 'its certificate has expired', fix: 'renew the certificate of the API server; check the clock of this host' },
  CERT_NOT_YET_VALID: { says: 'its certificate is not valid yet', fix: 'check the clock of this host' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    says: 'its certificate is for other names and addresses',
    fix: 'use an address that the certificate has, or add this one to it (kubeadm: apiServer.certSANs), or set tls-server-name in the kubeconfig',
  },
};
