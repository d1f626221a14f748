import { vip, vip6, type AgentsOnSegment } from '../../../../test/lab/l2-agents/agents-on-segment.ts';
import { podAddress, podAddress6 } from '../../../../test/lab/l2-agents/manifests.ts';

/** Makes a node pass requests for the addresses to its pod, for programs that only announce. */
export async function forwardToPod(lab: AgentsOnSegment, at: number): Promise<void> {
  const rules = `table inet bench {
  chain prerouting {
    type nat hook prerouting priority dstnat
    ip daddr ${vip} udp dport 80 dnat ip to ${podAddress(at)}:8080
    ip6 daddr ${vip6} udp dport 80 dnat ip6 to [${podAddress6(at)}]:8080
  }
}
`;
  await lab.exec(at, ['nft', '-f', '-'], { input: rules });
}
