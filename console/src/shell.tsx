import { useEffect } from 'preact/hooks';
import { AddressesPage } from './addresses/addresses-page.tsx';
import { FabricPage } from './fabric/fabric-page.tsx';
import { HistoryPage } from './history/history-page.tsx';
import { Link } from './parts/link.tsx';
import { Message } from './parts/message.tsx';
import { Mark } from './parts/mark.tsx';
import { ServicePage } from './service/service-page.tsx';
import { ServicesPage } from './services/services-page.tsx';
import { LinkContext, useServer, type Link as ServerLink } from './state/pulse.ts';
import { ageText, clockText, useNow } from './state/time.ts';
import { usePlace, type Place } from './state/url.ts';
import { WhatIfPage } from './what-if/what-if-page.tsx';

const tabs = [
  { to: '/services', title: 'Services', also: ['/', '/service'] },
  { to: '/fabric', title: 'Fabric', also: [] },
  { to: '/addresses', title: 'Addresses', also: [] },
  { to: '/history', title: 'History', also: [] },
  { to: '/what-if', title: 'What if', also: [] },
] as const;

export function Shell() {
  const link = useServer();
  const place = usePlace();
  const tab = tabs.find(({ to, also }) => to === place.path || also.some((path) => path === place.path));
  const name = place.path === '/service' ? place.query.get('name') : undefined;
  useEffect(() => {
    document.title = `${name ?? tab?.title ?? 'Herald'} - Herald`;
  }, [name, tab]);
  return (
    <LinkContext.Provider value={link}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <Link to="/services" class="brand">
          <img src="/icon.svg" alt="" width="24" height="24" />
          Herald
        </Link>
        <nav aria-label="Views">
          {tabs.map(({ to, title }) => (
            <Link key={to} to={to} current={tab?.to === to}>
              {title}
            </Link>
          ))}
        </nav>
        <div class="place">
          {link.pulse.from !== undefined && <p title={link.pulse.from}>{link.pulse.from}</p>}
          <Freshness link={link} />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <View place={place} />
      </main>
    </LinkContext.Provider>
  );
}

function View({ place }: { readonly place: Place }) {
  switch (place.path) {
    case '/':
    case '/services':
      return <ServicesPage query={place.query} />;
    case '/service':
      return <ServicePage name={place.query.get('name') ?? ''} query={place.query} />;
    case '/fabric':
      return <FabricPage query={place.query} />;
    case '/addresses':
      return <AddressesPage />;
    case '/history':
      return <HistoryPage query={place.query} />;
    case '/what-if':
      return <WhatIfPage />;
    default:
      return (
        <Message title="There is no such view">
          <p>
            Go to <Link to="/services">Services</Link>.
          </p>
        </Message>
      );
  }
}

/** A picture older than this says its age. */
const oldMilliseconds = 20_000;

/** How old the picture is, and why. */
function Freshness({ link }: { readonly link: ServerLink }) {
  const now = useNow();
  const { state, pulse } = link;
  const { at, trouble } = pulse;
  if (state === 'connecting') return <p class="freshness muted">Connecting</p>;
  const picture = at === undefined ? 'There is no picture yet' : `The picture is of ${clockText(at)}, ${ageText(at, now)} ago`;
  if (state === 'lost') {
    return (
      <p class="freshness bad" role="alert">
        <Mark health="bad" />
        <span>The console was ended. {at === undefined ? '' : `${picture}. `}Start it again: herald ui</span>
      </p>
    );
  }
  if (trouble !== undefined) {
    return (
      <p class="freshness doubtful" role="alert">
        <Mark health="doubtful" />
        <span>
          {picture}. Reading fails since {clockText(trouble.since)}: {trouble.message}
        </span>
      </p>
    );
  }
  const isOld = at !== undefined && now - Date.parse(at) > oldMilliseconds;
  return (
    <p class={isOld ? 'freshness doubtful' : 'freshness good'} role="status">
      <Mark health={isOld ? 'doubtful' : 'good'} />
      <span>{isOld ? picture : at === undefined ? 'Reading' : `Live, of ${clockText(at)}, ${ageText(at, now)} ago`}</span>
    </p>
  );
}
