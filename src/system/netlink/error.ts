import { getSystemErrorMap } from 'node:util';

/** The kernel or the C library refused a request. `code` is the system's name of the error, such as "EPERM" or "ENOBUFS". */
export class NetlinkError extends Error {
  readonly code: string;

  constructor(what: string, errno: number) {
    // Node does not know ERESTART, which is internal to the kernel. nf_tables returns it when the generation of the ruleset has changed.
    const [code, description] =
      getSystemErrorMap().get(-errno) ?? (errno === 85 ? ['ERESTART', 'try again'] : [`E${errno}`, 'unknown error']);
    super(`${what}: ${description}`);
    this.name = 'NetlinkError';
    this.code = code;
  }
}

/** The kernel received a request, but its acknowledgement was lost. It is unknown whether the request was carried out. */
export class AcknowledgementLost extends Error {
  readonly code = 'ENODATA';

  constructor(why: string, options?: ErrorOptions) {
    super(`no answer from the kernel: ${why}`, options);
    this.name = 'AcknowledgementLost';
  }
}

/** Received octets are not a valid netlink message. */
export class MalformedNetlink extends Error {
  readonly code = 'EBADMSG';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedNetlink';
  }
}
