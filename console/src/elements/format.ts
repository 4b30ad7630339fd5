// Words and numbers as the console writes them. Pure.

const UNITS: [number, string][] = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

// 3725 s: "1 h 2 min".
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const at = UNITS.findIndex(([size]) => whole >= size);
  const [size, name] = UNITS[at]!;
  const first = `${Math.floor(whole / size)} ${name}`;
  const below = UNITS[at + 1];
  const rest = below ? Math.floor((whole % size) / below[0]) : 0;
  return rest > 0 ? `${first} ${rest} ${below![1]}` : first;
}

// "5 min ago", "in 2 h", "now".
export function relative(thenUs: number, nowUs: number): string {
  const seconds = (nowUs - thenUs) / 1e6;
  if (Math.abs(seconds) < 5) return 'now';
  const short = coarse(Math.abs(seconds));
  return seconds > 0 ? `${short} ago` : `in ${short}`;
}

function coarse(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// 2026-11-22 15:53:02, in the reader's time zone.
export function exact(us: number): string {
  const date = new Date(us / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

// 17179869184: "16 GiB".
export function bytes(amount: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (amount >= 1024 && unit < names.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const text = amount >= 100 || Number.isInteger(amount) ? amount.toFixed(0) : amount.toFixed(1);
  return `${text} ${names[unit]}`;
}

// 12345.6: "12,345.6". (Intl takes 15 ms of a laptop's time to say its first number.)
export function grouped(n: number): string {
  const [whole, part] = String(Math.round(n * 1000) / 1000).split('.');
  return whole!.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : '');
}

// 2500 thousandths: "2.5".
export function thousandths(milli: number): string {
  return String(Math.round(milli) / 1000);
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

// "timed_out": "Timed out".
export function words(name: string): string {
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function percent(part: number, whole: number): number {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}
