import assert from 'node:assert';
import { decodeCapability, encodeCapability, type Capability } from './capability.ts';
import { errorCode, messageType, openError } from './codes.ts';
import { decoded, failed, fault, type Decoded } from './fault.ts';
import { withHeader } from './header.ts';
import { Reader } from './reader.ts';
import { octets, u16, u32 } from './writer.ts';

/**
 * OPEN (RFC 4271 4.2):
 *   version (1) | my AS (2) | hold time (2) | BGP identifier (4) | length of parameters (1) | parameters
 * In the extended form (RFC 9072 2) the parameters begin with type 255, and their lengths have two octets.
 */
export interface OpenMessage {
  readonly version: number;
  /** The 2-octet field: AS_TRANS if the number needs four octets. */
  readonly asn: number;
  /** In seconds. */
  readonly holdTime: number;
  readonly routerId: number;
  readonly capabilities: readonly Capability[];
}

const capabilitiesParameter = 2;
const extendedLength = 255;

/** Checks the format only; `negotiate` checks the values. */
export function decodeOpen(body: Uint8Array): Decoded<OpenMessage> {
  const reader = new Reader(body);
  const version = reader.u8();
  if (version !== 4) {
    // The version is checked first, because another version may have another layout.
    return failed(fault('reset', errorCode.open, openError.version, `the peer speaks BGP version ${version}`, octets(u16(4))));
  }
  const asn = reader.u16();
  const holdTime = reader.u16();
  const routerId = reader.u32();
  let length = reader.u8();
  if (reader.overrun) return malformed('it is too short');
  const parameters = reader.rest();
  // The length octet should be 255 here. Only 0 would be an error, so other values are accepted (RFC 9072 2).
  const extended = length !== 0 && parameters[0] === extendedLength;
  const inner = new Reader(parameters);
  if (extended) {
    inner.u8();
    length = inner.u16();
  }
  if (inner.overrun || length !== inner.left) return malformed('the length of its optional parameters does not match the message');
  const capabilities: Capability[] = [];
  while (inner.left > 0) {
    const type = inner.u8();
    const value = inner.take(extended ? inner.u16() : inner.u8());
    if (inner.overrun) return malformed('an optional parameter is longer than the message');
    if (type !== capabilitiesParameter) {
      return failed(fault('reset', errorCode.open, openError.optionalParameter, `the optional parameter ${type} is not supported`));
    }
    const problem = decodeCapabilities(value, capabilities);
    if (problem !== undefined) return malformed(problem);
  }
  return decoded({ version, asn, holdTime, routerId, capabilities });
}

/** Encodes the whole message. The extended form of RFC 9072 is used only for more than 255 octets of parameters. */
export function encodeOpen(open: OpenMessage): Uint8Array {
  const head = octets(open.version, u16(open.asn), u16(open.holdTime), u32(open.routerId));
  const encoded = open.capabilities.map(encodeCapability);
  const values = octets(...encoded);
  if (values.length === 0) return withHeader(messageType.open, octets(head, 0));
  if (values.length + 2 <= 255) {
    return withHeader(messageType.open, octets(head, values.length + 2, capabilitiesParameter, values.length, values));
  }
  assert(values.length < 0xffff - 3, 'too many capabilities');
  const parameter = octets(capabilitiesParameter, u16(values.length), values);
  return withHeader(messageType.open, octets(head, extendedLength, extendedLength, u16(parameter.length), parameter));
}

function decodeCapabilities(value: Uint8Array, into: Capability[]): string | undefined {
  const reader = new Reader(value);
  while (reader.left > 0) {
    const code = reader.u8();
    const data = reader.take(reader.u8());
    if (reader.overrun) return `the capability ${code} is longer than its parameter`;
    const capability = decodeCapability(code, data);
    if (capability === undefined) return `the capability ${code} has ${data.length} octets`;
    into.push(capability);
  }
  return undefined;
}

function malformed(detail: string): Decoded<never> {
  return failed(fault('reset', errorCode.open, openError.unspecific, `the OPEN of the peer is malformed: ${detail}`));
}
