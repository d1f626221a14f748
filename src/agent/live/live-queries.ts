import {
  livePaths,
  type LiveAddress,
  type LiveCheck,
  type LiveEndpointConnections,
  type LiveLink,
  type LiveReceivedRoute,
  type LiveRoute,
  type LiveSession,
  type Page,
} from '../../live/contract.ts';
import type { LiveApi } from '../../live/live-api.ts';
import { pageOf, type LiveQuery } from '../../live/query.ts';
import { receivedParameters } from './live-received.ts';
import { routeParameters } from './live-routes.ts';

/** The queries about an agent that the live API answers. */
export interface AgentLiveQueries {
  sessions(): readonly LiveSession[];
  /** Throws LiveQueryError. */
  routes(query: LiveQuery): Pick<Page<LiveRoute>, 'items' | 'next'>;
  /** Routes that peers announced and their `import` accepts. Throws LiveQueryError. */
  received(query: LiveQuery): Pick<Page<LiveReceivedRoute>, 'items' | 'next'>;
  /** Links and addresses of announcements by ARP and NDP. Both reject with LiveQueryError. */
  links(query: LiveQuery): Promise<Pick<Page<LiveLink>, 'items' | 'next'>>;
  addresses(query: LiveQuery): Promise<Pick<Page<LiveAddress>, 'items' | 'next'>>;
  /** What became of connections. Throws LiveQueryError. */
  checks(query: LiveQuery): Pick<Page<LiveCheck>, 'items' | 'next'>;
  /** Connections by endpoint. Rejects with LiveQueryError, also when the kernel does not tell. */
  endpoints(query: LiveQuery): Promise<Pick<Page<LiveEndpointConnections>, 'items' | 'next'>>;
}

/** Registers the agent's lists with the live API. Returns a function that removes them. */
export function registerAgentQueries(live: LiveApi, agent: AgentLiveQueries): () => void {
  const taken = [
    live.addList(livePaths.sessions, {
      parameters: ['peer'],
      items: (query) => {
        const peer = query.text('peer');
        const all = agent.sessions().filter((session) => peer === undefined || session.peer === peer);
        return pageOf(all, (session) => session.peer, query);
      },
    }),
    live.addList(livePaths.routes, { parameters: routeParameters, items: (query) => agent.routes(query) }),
    live.addList(livePaths.received, { parameters: receivedParameters, items: (query) => agent.received(query) }),
    live.addList(livePaths.links, { parameters: [], items: (query) => agent.links(query) }),
    live.addList(livePaths.addresses, { parameters: ['service'], items: (query) => agent.addresses(query) }),
    live.addList(livePaths.checks, { parameters: ['service'], items: (query) => agent.checks(query) }),
    live.addList(livePaths.endpoints, { parameters: ['service'], items: (query) => agent.endpoints(query) }),
  ];
  return () => {
    for (const end of taken) end();
  };
}
