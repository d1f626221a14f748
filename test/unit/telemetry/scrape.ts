/** Reads the text of a scrape: the samples of one metric, by name and labels as they are written. */
export function samplesOf(text: string, metric: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(metric) && /[{ ]/.test(line[metric.length] ?? ''));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** The value of one series; undefined: it is not there. */
export function sampleOf(text: string, series: string): number | undefined {
  return samplesOf(text, series.split('{')[0] ?? '').get(series);
}
