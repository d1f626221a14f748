import { getSystemErrorMap } from 'node:util';

/** The kernel, or the C library, said no. `code` is the system's name of the reason: "EPERM", "ENOBUFS". */
export class NetlinkError extends Error {
  readonly code: string;

  constructor(what: string, errno: number) {
    // ERESTART is for the kernel's own use, and still what a batch of another generation gets.
    const [code, description] =
      getSystemErrorMap().get(-errno) ?? (errno === 85 ? ['ERESTART', 'try again'] : [`E${errno}`, 'unknown error']);
    super(`${what}: ${description}`);
    this.name = 'NetlinkError';
    this.code = code;
  }
}

/** The kernel has a request, and its answer was lost: whether it has done it nobody knows. */
export class AcknowledgementLost extends Error {
  readonly code = 'ENODATA';

  constructor(why: string, options?: ErrorOptions) {
    super(`no answer from the kernel: ${why}`, options);
    this.name = 'AcknowledgementLost';
  }
}

/** What was received is not netlink as we know it. */
export class MalformedNetlink extends Error {
  readonly code = 'EBADMSG';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedNetlink';
  }
}
