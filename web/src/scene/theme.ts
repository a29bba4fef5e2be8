// Colours of both themes, for the scene and for the CSS variables of the panels: one table, so that they cannot drift apart.

export type ThemeName = "dark" | "light";

export interface Theme {
  background: string;
  ground: string;
  gridMinor: string;
  gridMajor: string;
  shell: string;
  joints: string;
  trim: string;
  desired: string;
  matched: string;
  path: string;
  asked: string;
  left: string;
  right: string;
  sky: string;
  earth: string;
  hemisphere: number;
  sun: number;
}

export const THEMES: Record<ThemeName, Theme> = {
  dark: {
    background: "#14171c", ground: "#1d2128", gridMinor: "#2b313b", gridMajor: "#3d4654",
    shell: "#dcdad4", joints: "#343a45", trim: "#f0a35e",
    desired: "#58c4f6", matched: "#f0a35e", path: "#8b95a7", asked: "#58c4f6", left: "#3ecf9a", right: "#f27f8f",
    sky: "#c9d8ee", earth: "#4a4640", hemisphere: 1.25, sun: 1.7,
  },
  light: {
    background: "#eef0f3", ground: "#e4e7ec", gridMinor: "#d2d7df", gridMajor: "#b8c0cc",
    shell: "#f4f2ee", joints: "#4a5260", trim: "#d9772b",
    desired: "#0b83c4", matched: "#d9772b", path: "#7d8798", asked: "#0b83c4", left: "#0f9e6c", right: "#d64c60",
    sky: "#ffffff", earth: "#b9b3a8", hemisphere: 1.7, sun: 1.15,
  },
};

export function preferredTheme(): ThemeName {
  return window.matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}
