import type { Cloud } from './cloud.ts';
import { AwsError } from './cloud/error.ts';
import { isWrite, type Input, type Operation, type Output } from './cloud/operations.ts';

/**
 * AWS for a controller that others stand in for: it writes only while it leads. AWS has no versions to compare, so that whoever leads no
 * more must not even ask; what it has asked for before is harmless, as the next one looks at what is there.
 */
export class FencedCloud implements Cloud {
  readonly #cloud: Cloud;
  readonly #mayWrite: () => boolean;

  constructor(cloud: Cloud, mayWrite: () => boolean) {
    this.#cloud = cloud;
    this.#mayWrite = mayWrite;
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    if (isWrite(operation) && !this.#mayWrite()) {
      const message = `${operation}: not asked for: the Lease was not renewed in time`;
      throw new AwsError({ code: 'unreachable', operation, awsCode: '', requestId: '', message });
    }
    return this.#cloud.call(operation, input);
  }
}
