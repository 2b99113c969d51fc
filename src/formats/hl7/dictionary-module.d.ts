declare module "hl7-dictionary" {
  const dictionary: unknown;
  export default dictionary;
}
