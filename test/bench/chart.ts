// A chart of bars as SVG: groups under each other, and in each the longest bar is as wide as the chart, because only bars
// of one run and one group can be compared. A thin line shows the spread of the rounds.
import { type Bar, median, rounded, spread } from './report.ts';

const WIDTH = 760;
const LABELS = 190;
const NUMBERS = 150;
const BAR = 18;
const GAP = 6;
const HEADING = 30;
const MARGIN = 16;
const BOLD = ' font-weight="bold"';
const colours = ['#8c959f', '#0969da', '#1a7f37', '#bf8700'];

export function chartOf(title: string, bars: readonly Bar[]): string {
  const series = [...new Set(bars.map((bar) => bar.series))];
  const parts: string[] = [text(MARGIN, MARGIN + 12, title, BOLD)];
  let y = MARGIN + HEADING;
  for (const [group, ofGroup] of Map.groupBy(bars, (bar) => bar.group)) {
    parts.push(text(MARGIN, y + 14, group, BOLD));
    y += HEADING - GAP;
    const scale = (WIDTH - LABELS - NUMBERS) / Math.max(...ofGroup.flatMap(({ values }) => values));
    for (const bar of ofGroup) {
      parts.push(...drawn(bar, { y, scale, colour: colours[series.indexOf(bar.series) % colours.length] ?? '' }));
      y += BAR + GAP;
    }
    y += GAP;
  }
  const font = 'font-family="system-ui, sans-serif" font-size="13" fill="#1f2328"';
  const size = `viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}"`;
  const background = `<rect width="${WIDTH}" height="${y}" fill="#ffffff"/>`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" ${font}>`;
  return [head, `<title>${escaped(title)}</title>`, background, ...parts, '</svg>', ''].join('\n');
}

interface Place {
  readonly y: number;
  /** Pixels for one. */
  readonly scale: number;
  readonly colour: string;
}

function drawn({ series, values }: Bar, { y, scale, colour }: Place): readonly string[] {
  const at = (value: number): number => rounded(LABELS + value * scale, 1);
  const [least, middle, most] = [Math.min(...values), median(values), Math.max(...values)];
  const half = y + BAR / 2;
  const number = `${rounded(middle, middle < 10 ? 2 : 0)} (${spread(values, middle < 10 ? 2 : 0)})`;
  return [
    text(LABELS - 8, half + 5, series, ' text-anchor="end"'),
    `<rect x="${LABELS}" y="${y}" width="${rounded(middle * scale, 1)}" height="${BAR}" fill="${colour}"/>`,
    `<path d="M${at(least)} ${half}H${at(most)}" stroke="#1f2328" stroke-width="2"/>`,
    text(Math.max(at(most), at(middle)) + 8, half + 5, number),
  ];
}

function text(x: number, y: number, content: string, style = ''): string {
  return `<text x="${x}" y="${y}"${style}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
