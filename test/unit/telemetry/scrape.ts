/** Returns the samples of one metric in a scrape, by name and labels as written there. */
export function samplesOf(text: string, metric: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(metric) && /[{ ]/.test(line[metric.length] ?? ''));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** Returns the value of one series. Undefined: the scrape does not have it. */
export function sampleOf(text: string, series: string): number | undefined {
  return samplesOf(text, series.split('{')[0] ?? '').get(series);
}
