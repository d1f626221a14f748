import { defined } from '../../lang/defined.ts';
import type { TrafficFilter } from '../../net/host-filter.ts';
import type { Clock } from '../../system/clock.ts';
import { readAttributes, readHostNumber, readText } from '../../system/netlink/attributes.ts';
import { NetlinkConnection, type Request } from '../../system/netlink/connection.ts';
import { NetlinkError } from '../../system/netlink/error.ts';
import { listLinks } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol } from '../../system/netlink/socket.ts';
import { limits } from './limits.ts';

/** The numbers of linux/rtnetlink.h, linux/if_link.h and linux/pkt_sched.h. */
const getFilter = 46;
const linkAttributes = { name: 3, xdp: 43 } as const;
const xdpAttributes = { attached: 2, program: 4 } as const;
const filterAttributes = { kind: 1, options: 2 } as const;
const bpfAttributes = { name: 7, id: 11 } as const;
/** Octets of struct ifinfomsg and struct tcmsg. */
const linkHeader = 16;
const filterHeader = 20;
/** The hooks of the qdiscs clsact and ingress: TC_H_CLSACT with TC_H_MIN_INGRESS, and with TC_H_MIN_EGRESS. */
const hooks = [
  { parent: 0xffff_fff2, name: 'ingress' },
  { parent: 0xffff_fff3, name: 'egress' },
] as const;
/** The names of programs by which plugins are known. */
const plugins = [{ name: 'Cilium', programs: /^(?:cil_|bpf_(?:host|lxc|xdp|overlay))/ }] as const;

/**
 * Lists XDP programs and filters of tc on these interfaces, at most `limits.trafficInterfaces` of them. Programs that are attached as links (tcx) are
 * not among those of tc. Rejects with NetlinkError. `networkNamespace` is a file such as /run/netns/node1.
 */
export async function readTrafficFilters(
  interfaces: readonly string[],
  clock: Clock,
  networkNamespace?: string,
): Promise<readonly TrafficFilter[]> {
  const socket = openNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  if (socket === undefined) return [];
  try {
    const connection = new NetlinkConnection(socket, clock);
    const wanted = new Set(interfaces.slice(0, limits.trafficInterfaces));
    const links = (await connection.list(listLinks, readProgrammedLink)).filter(({ name }) => wanted.has(name));
    const found: TrafficFilter[] = [];
    for (const { index, name, program } of links) {
      if (program !== undefined) found.push({ interface: name, text: `an XDP program (id ${program})` });
      for (const hook of hooks)
        for (const { text, plugin } of await listFilters(connection, index, hook))
          found.push({ interface: name, text, ...defined({ plugin }) });
    }
    return found;
  } finally {
    socket.close();
  }
}

async function listFilters(
  connection: NetlinkConnection,
  index: number,
  hook: (typeof hooks)[number],
): Promise<readonly Pick<TrafficFilter, 'text' | 'plugin'>[]> {
  try {
    const texts = await connection.list(filterQuestion(index, hook.parent), readFilter);
    const ofText = new Map(texts.map((one) => [one.text, { ...one, text: `a tc filter (${one.text}) at ${hook.name}` }]));
    return [...ofText.values()];
  } catch (error) {
    // The interface has no such qdisc, or has gone.
    if (error instanceof NetlinkError) return [];
    throw error;
  }
}

function filterQuestion(index: number, parent: number): Request {
  return {
    type: getFilter,
    write(writer) {
      const header = new Uint8Array(filterHeader);
      const view = new DataView(header.buffer);
      view.setInt32(4, index, true);
      view.setUint32(12, parent, true);
      writer.raw(header);
    },
  };
}

interface ProgrammedLink {
  readonly index: number;
  readonly name: string;
  readonly program?: number;
}

/** Reads one link of a list, with the number of its XDP program. */
export function readProgrammedLink(payload: Uint8Array): ProgrammedLink | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const attributes = readAttributes(payload.subarray(linkHeader));
  const name = attributes.get(linkAttributes.name);
  if (index === undefined || name === undefined) return undefined;
  const xdp = readAttributes(attributes.get(linkAttributes.xdp) ?? new Uint8Array());
  const isAttached = (xdp.get(xdpAttributes.attached)?.[0] ?? 0) > 0;
  return { index, name: readText(name), ...(isAttached ? { program: readHostNumber(xdp.get(xdpAttributes.program)) ?? 0 } : {}) };
}

/** Reads one filter of a list. Several entries are of one filter. */
export function readFilter(payload: Uint8Array): Pick<TrafficFilter, 'text' | 'plugin'> | undefined {
  const attributes = readAttributes(payload.subarray(filterHeader));
  const kind = attributes.get(filterAttributes.kind);
  const options = attributes.get(filterAttributes.options);
  // The first entry of a chain has no handle, and tells nothing.
  if (kind === undefined || options === undefined || readHostNumber(payload.subarray(8, 12)) === 0) return undefined;
  const kindText = readText(kind);
  if (kindText !== 'bpf') return { text: kindText };
  const bpf = readAttributes(options);
  const [name, id] = [bpf.get(bpfAttributes.name), readHostNumber(bpf.get(bpfAttributes.id))];
  const program = name === undefined ? '' : readText(name);
  const plugin = plugins.find(({ programs }) => programs.test(program))?.name;
  return { text: `bpf${program === '' ? '' : ` ${program}`}${id === undefined ? '' : `, id ${id}`}`, ...defined({ plugin }) };
}
