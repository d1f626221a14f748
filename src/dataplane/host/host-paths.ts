import { defined } from '../../lang/defined.ts';
import type { HostPath, HostTarget } from '../../net/host-path.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection, type Request } from '../../system/netlink/connection.ts';
import { requestsPerDatagram } from '../../system/netlink/limits.ts';
import { openNetlink, routeProtocol } from '../../system/netlink/socket.ts';
import { linkQuestion, outgoingInterface, readLink, routeQuestion } from './path-messages.ts';

/**
 * Asks the kernel by which interface it sends packets to each target, with the sizes that the interface takes. Undefined: by none, or to
 * itself, or this machine has no FFI. Rejects with NetlinkError. `networkNamespace` is a file such as /run/netns/node1.
 */
export async function findHostPaths(
  targets: readonly HostTarget[],
  clock: Clock,
  networkNamespace?: string,
): Promise<readonly (HostPath | undefined)[]> {
  const socket = openNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  if (socket === undefined) return targets.map(() => undefined);
  const connection = new NetlinkConnection(socket, clock);
  const ask = async (requests: readonly Request[]): Promise<(Uint8Array | undefined)[]> => {
    const answers: (Uint8Array | undefined)[] = [];
    for (let start = 0; start < requests.length; start += requestsPerDatagram) {
      const part = await connection.requestEach(requests.slice(start, start + requestsPerDatagram));
      answers.push(...part.map(({ payloads: [payload] }) => payload));
    }
    return answers;
  };
  try {
    const answers = await ask(targets.map((target) => ('interface' in target ? linkQuestion(target.interface) : routeQuestion(target))));
    const interfaces = answers.map((answer, position) => {
      if (answer === undefined) return undefined;
      return 'interface' in (targets[position] ?? {}) ? readLink(answer)?.index : outgoingInterface(answer);
    });
    const used = [...new Set(interfaces.flatMap((index) => index ?? []))];
    const links = linksOf(await ask(used.map((index) => linkQuestion({ index }))));
    const cables = links.flatMap(({ index, far }) => (far === undefined ? [] : [{ index, far }]));
    // The kernel answers only a process with NET_ADMIN there too; else the size stays unknown.
    const farEnds = await ask(cables.map(({ far }) => linkQuestion(far)));
    const farMtus = new Map(cables.map(({ index }, position) => [index, linksOf(farEnds.slice(position, position + 1))[0]?.mtu]));
    const paths = new Map(
      links.map(({ index, name, mtu }) => [index, { interface: name, mtu, ...defined({ farMtu: farMtus.get(index) }) }]),
    );
    return interfaces.map((index) => (index === undefined ? undefined : paths.get(index)));
  } finally {
    socket.close();
  }
}

const linksOf = (answers: readonly (Uint8Array | undefined)[]) =>
  answers.flatMap((answer) => (answer === undefined ? [] : (readLink(answer) ?? [])));
