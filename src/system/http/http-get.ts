import { get } from './node-http.ts';

interface HttpGetBounds {
  readonly milliseconds: number;
  /** Maximum length of the body. The rest is not read. */
  readonly bytes: number;
}

/** Returns the body of a GET request to a server on this host. Returns undefined when the status is not 200 or no answer arrives. */
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
