import { defined } from '../../../lang/defined.ts';
import { messageFacts, messageText, type Streamed, type TracedConnection, type TraceEvent } from '../../../bgp/index.ts';
import { formatAddress } from '../../../net/address.ts';

/** Returns one line for an event. */
export function traceText(event: Streamed<TraceEvent>): string {
  if (event.type === 'lost') return `... ${event.count} messages are missing here: they came faster than they were read`;
  const { at, connection } = event;
  const begin = `${at.toISOString()} [${connection.number}]`;
  switch (event.type) {
    case 'opened':
      return `${begin} connection opened by ${connection.openedBy}${endsText(connection)}`;
    case 'present':
      return `${begin} connection is there already, opened by ${connection.openedBy}${endsText(connection)}`;
    case 'message':
      return `${begin} ${event.direction === 'sent' ? '->' : '<-'} ${messageText(messageFacts(event.octets, event.session))}`;
    case 'unreadable':
      return `${begin} <- not a BGP message (${event.problem}): ${Buffer.from(event.octets.subarray(0, 32)).toString('hex')}`;
    case 'closed':
      if (connection.ends === undefined) return `${begin} no connection: ${event.problem ?? `given up by ${event.by}`}`;
      return `${begin} connection closed by ${event.by}${event.problem === undefined ? '' : `: ${event.problem}`}`;
  }
}

function endsText({ ends }: TracedConnection): string {
  return ends === undefined ? '' : `, ${endText(ends.local)} to ${endText(ends.remote)}`;
}

/** Formats an address and port as RFC 5952 6: 192.0.2.1:179, [2001:db8::1]:179. */
function endText({ address, port }: NonNullable<TracedConnection['ends']>['local']): string {
  const host = formatAddress(address);
  return `${address.family === 6 ? `[${host}]` : host}:${port}`;
}

/** Returns the event as plain data. `octets` is hexadecimal, so that a message that was decoded wrongly can be examined. */
export function traceFacts(event: Streamed<TraceEvent>): object {
  if (event.type === 'lost') return event;
  const { number, openedBy, ends } = event.connection;
  const between = ends === undefined ? {} : { local: endText(ends.local), remote: endText(ends.remote) };
  const base = { at: event.at.toISOString(), type: event.type, connection: { number, openedBy, ...between } };
  switch (event.type) {
    case 'message': {
      const { direction, octets, session } = event;
      return { ...base, direction, message: messageFacts(octets, session), octets: Buffer.from(octets).toString('hex') };
    }
    case 'unreadable':
      return { ...base, problem: event.problem, octets: Buffer.from(event.octets).toString('hex') };
    case 'closed':
      return { ...base, by: event.by, ...defined({ problem: event.problem }) };
    case 'opened':
    case 'present':
      return base;
  }
}
