import type { Command } from 'commander';
import { renderSessions } from '../../../explain/sessions/render-sessions.ts';
import { sessionReport, type SessionReport } from '../../../explain/sessions/session-report.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { scopeOptions, selectedNames, type ScopeOptions } from '../../options/selector-option.ts';
import { askedView } from '../../reading/query-nodes.ts';
import { nodeOption, peerOption, requireKnownNames, type NameOptions } from './node-peer-options.ts';
import { tableCommand, type TableOptions } from './table-command.ts';

export function peersCommand(context: CommandContext): Command {
  return tableCommand<TableOptions & NameOptions & ScopeOptions, SessionReport>(context, {
    command: 'peers',
    alias: 'peer',
    description: 'show the BGP sessions of all nodes: state, uptime, and routes received and advertised by family',
    examples: [
      'herald peers                               in the cluster of $KUBECONFIG',
      'herald peers -o wide --node node1          with BFD, and why a session is not up',
      'herald peers --peer tor1 --watch           again whenever it changes',
      'herald peers --source /etc/herald -o json  a directory',
    ],
    options: [nodeOption(), peerOption(), ...scopeOptions('BGPPeer')],
    async data(reading, options) {
      const { now } = reading;
      requireKnownNames(reading, options);
      const { snapshot, live } = await askedView(context, options, reading, { node: options.node });
      const { sessions } = sessionReport(snapshot, now, options, live);
      const selected = selectedNames(options, 'BGPPeer', snapshot.peers);
      return { sessions: sessions.filter(({ peer }) => selected.has(peer)) };
    },
    names: ({ sessions }) => sessions.map(({ peer }) => `bgppeer/${peer}`),
    needs: ['BGPPeer', 'Node'],
    lines: renderSessions,
  });
}
