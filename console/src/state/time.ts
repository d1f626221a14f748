import { useEffect, useState } from 'preact/hooks';

/** Returns the present time in milliseconds, again every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** "14:02:11", in the time zone of the browser. */
export function clockText(time: string): string {
  return new Date(time).toLocaleTimeString(undefined, { hour12: false });
}

/** "3 h", "12 s". */
export function ageText(since: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
