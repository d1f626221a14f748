import { KubeError } from '../../error.ts';

/** Octets that are not what protobuf or the API specifies. The same objects may be readable in JSON. */
export class ProtobufError extends KubeError {
  constructor(problem: string) {
    super('malformed', `the API server sent protobuf that cannot be read: ${problem}`);
  }
}
