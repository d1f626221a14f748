import { get } from 'node:http';

interface HttpGetBounds {
  readonly milliseconds: number;
  /** Of the body; the rest is not read. */
  readonly bytes: number;
}

/** What an HTTP server on this host answers with status 200; undefined: another status, or nothing. */
export function httpGet(url: string, { milliseconds, bytes }: HttpGetBounds): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { timeout: milliseconds, agent: false }, (response) => {
      let body = '';
      const end = (): void => resolve(response.statusCode === 200 ? body.slice(0, bytes) : undefined);
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
        if (body.length < bytes) return;
        end();
        request.destroy();
      });
      response.on('end', end);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
    request.on('close', () => resolve(undefined));
  });
}
