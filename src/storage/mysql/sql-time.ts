/** RFC 3339 in UTC → DATETIME(6) text in UTC. Digits beyond microseconds are dropped, not rounded. */
export function toSqlTime(rfc3339: string): string {
  const fraction = rfc3339.slice(20).replace('Z', '');
  return `${rfc3339.slice(0, 10)} ${rfc3339.slice(11, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}`;
}

/** Always with six digits: the driver leaves out a fraction of zero. */
export function fromSqlTime(sql: string): string {
  const [seconds = '', fraction = ''] = sql.replace(' ', 'T').split('.');
  return `${seconds}.${fraction.padEnd(6, '0')}Z`;
}
