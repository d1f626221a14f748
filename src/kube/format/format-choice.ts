import { jsonFormat, jsonType } from './json/json-format.ts';
import type { ObjectFormat } from './object-format.ts';
import { isProtobuf, protobufType } from './protobuf/media-type.ts';
import type { ObjectTable } from './protobuf/object-table.ts';
import { protobufFormat } from './protobuf/protobuf-format.ts';

/** The header Accept of a request that takes protobuf. With JSON in it every API server has an answer: kinds of a CRD have no protobuf. */
export const protobufOrJson = `${protobufType},${jsonType}`;

/**
 * The format in which the objects of one resource are asked for: protobuf as long as the API server answers in it and Herald can read the
 * answers, JSON otherwise and from then on.
 */
export class FormatChoice {
  #table: ObjectTable | undefined;

  /** Without a table it is JSON from the start. */
  constructor(table: ObjectTable | undefined) {
    this.#table = table;
  }

  /** The header Accept of a request. */
  get accept(): string {
    return this.#table === undefined ? jsonType : protobufOrJson;
  }

  /** Returns the format of a successful answer. */
  formatOf(contentType: string | undefined): ObjectFormat {
    if (this.#table !== undefined && isProtobuf(contentType)) return protobufFormat(this.#table);
    this.useJson();
    return jsonFormat;
  }

  /** Asks for JSON from now on. */
  useJson(): void {
    this.#table = undefined;
  }
}
