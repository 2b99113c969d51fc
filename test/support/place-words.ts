import { expect } from "vitest";
import { type Place, placeText } from "../../src/core/place.ts";

const KEYS = new Set(["message", "byte", "whole", "lines", "order", "head", "spots", "part"]);

const isPlace = (value: unknown): value is Place =>
  typeof value === "object" && value !== null && Object.keys(value).every((key) => KEYS.has(key));

// What is expected of a place are its words: `toEqual({ place: "line 3, column label" })`.
expect.addEqualityTesters([
  (one: unknown, other: unknown) => {
    if (typeof one === "string" && isPlace(other)) return placeText(other) === one;
    if (typeof other === "string" && isPlace(one)) return placeText(one) === other;
    return isPlace(one) && isPlace(other) && one.spots && other.spots
      ? placeText(one) === placeText(other)
      : undefined;
  },
]);
