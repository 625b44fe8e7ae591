/** Style sheets are bundled as text. */
declare module '*.css' {
  const sheet: string;
  export default sheet;
}
