/**
 * Leads from the address with the token to the page. A redirect would not do: a browser that comes from another site does not send a cookie
 * with SameSite=Strict along a redirect. The refresh is a navigation of this page itself, and it takes the token out of the history.
 */
export function enteringPage(): string {
  return page('<meta http-equiv="refresh" content="0;url=/">', '<p><a href="/">Open the console</a></p>');
}

/** `said` and `fix` are constants of this program, without markup. */
export function messagePage(said: string, fix: string): string {
  return page('', `<h1>${said}</h1><p>${fix}</p>`);
}

function page(head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Herald</title><link rel="icon" href="/icon.svg">${head}</head><body>${body}</body></html>\n`;
}
