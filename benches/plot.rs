//! Plots with two logarithmic axes, as SVG.
//!
//! They are written by hand: a library would draw the lines as well, but for one background only. Colours are attributes, for
//! programs that know no style sheets, and a style sheet changes them where the reader prefers dark pages.

use std::fmt::Write as _;

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 420.0;
/// The area that the axes enclose. The legend is to the right of it.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 360.0;

/// Axes of so many decades or fewer have labels between the powers of ten.
const FEW_DECADES: f64 = 3.0;

/// Where labels may be in each decade, and where axes begin and end.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

const DARK: &str = "@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d }
  .stroke0 { stroke: #58a6ff } .fill0 { fill: #58a6ff } .stroke1 { stroke: #f0883e } .fill1 { fill: #f0883e }
  .stroke2 { stroke: #8b949e } .fill2 { fill: #8b949e } .stroke3 { stroke: #3fb950 } .fill3 { fill: #3fb950 }
}";
const COLOURS: [&str; 4] = ["#0969da", "#bc4c00", "#656d76", "#1a7f37"];

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: &'static str,
    /// The quantity below the horizontal axis, with its unit.
    pub(crate) x: &'static str,
    /// The quantity beside the vertical axis, with its unit.
    pub(crate) y: &'static str,
    /// The lines.
    pub(crate) lines: Vec<Line>,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its name in the legend.
    pub(crate) name: String,
    /// Which of the colours it has.
    pub(crate) colour: usize,
    /// Whether it is dashed.
    pub(crate) dashed: bool,
    /// Its points, from left to right; all numbers are positive.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Plot {
    /// The file's content. A plot without points has empty axes.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::covering(points().map(|point| point.0), LEFT, RIGHT);
        let y = Axis::covering(points().map(|point| point.1), BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n\
             <style>{DARK}</style>\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        for (value, label) in x.ticks() {
            let at = x.position(value);
            rule(&mut svg, (at, TOP), (at, BOTTOM));
            text(&mut svg, (at, BOTTOM + 20.0), "text-anchor=\"middle\"", &label);
        }
        for (value, label) in y.ticks() {
            let at = y.position(value);
            rule(&mut svg, (LEFT, at), (RIGHT, at));
            text(&mut svg, (LEFT - 8.0, at + 4.0), "text-anchor=\"end\"", &label);
        }
        let middle = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
        text(&mut svg, (LEFT, 28.0), "font-weight=\"bold\" font-size=\"15\"", self.title);
        text(&mut svg, (middle.0, BOTTOM + 45.0), "text-anchor=\"middle\"", self.x);
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 20 {})\"", middle.1);
        text(&mut svg, (20.0, middle.1), &turned, self.y);
        let mut legend = TOP + 10.0;
        for line in &self.lines {
            let points: Vec<_> =
                line.points.iter().map(|point| (x.position(point.0), y.position(point.1))).collect();
            line.draw(&mut svg, &points);
            line.draw(&mut svg, &[(RIGHT + 20.0, legend), (RIGHT + 50.0, legend)]);
            text(&mut svg, (RIGHT + 60.0, legend + 4.0), "", &line.name);
            legend += 24.0;
        }
        svg + "</svg>\n"
    }
}

impl Line {
    fn draw(&self, svg: &mut String, points: &[(f64, f64)]) {
        let class = self.colour % COLOURS.len();
        let colour = COLOURS[class];
        let dashes = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        // Writing to a text cannot fail.
        let _ = writeln!(
            svg,
            "<polyline class=\"stroke{class}\" points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
            path.join(" ")
        );
        for (x, y) in points {
            let _ = writeln!(
                svg,
                "<circle class=\"fill{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
            );
        }
    }
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#d1d9e0\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// `content` is ours, and has no character that XML reserves.
fn text(svg: &mut String, (x, y): (f64, f64), attributes: &str, content: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>");
}

/// A logarithmic axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The values at its ends; both are steps.
    least: f64,
    most: f64,
    /// Where they are in the picture.
    from: f64,
    to: f64,
}

impl Axis {
    /// From the step at or below the least value to the one at or above the most.
    fn covering(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let values = values.filter(|value| value.is_normal() && *value > 0.0);
        let low = values.clone().reduce(f64::min).unwrap_or(1.0);
        let high = values.reduce(f64::max).unwrap_or(1.0);
        let decade = 10_f64.powf(low.log10().floor());
        let least = STEPS.iter().map(|step| step * decade).rfind(|step| *step <= low).unwrap_or(decade);
        let most = steps_from(decade).find(|step| *step >= high && *step > least).unwrap_or(high);
        Self { least, most, from, to }
    }

    fn position(self, value: f64) -> f64 {
        self.from + (value / self.least).log10() / (self.most / self.least).log10() * (self.to - self.from)
    }

    fn ticks(self) -> Vec<(f64, String)> {
        let few = (self.most / self.least).log10() <= FEW_DECADES;
        steps_from(10_f64.powf(self.least.log10().floor()))
            .skip_while(|step| *step < self.least)
            .take_while(|step| *step <= self.most)
            .filter(|step| few || step.log10().fract().abs() < 1e-9)
            .map(|step| (step, label(step)))
            .collect()
    }
}

/// The steps from a power of ten on.
fn steps_from(decade: f64) -> impl Iterator<Item = f64> {
    let decades = std::iter::successors(Some(decade), |decade| Some(decade * 10.0));
    decades.take_while(|decade| decade.is_finite()).flat_map(|decade| STEPS.map(|step| step * decade))
}

/// A number with separators of thousands, or with as many digits behind the point as it needs.
fn label(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_begins_and_ends_at_the_steps_around_its_values() {
        let axis = Axis::covering([20.0, 1500.0].into_iter(), 0.0, 300.0);
        assert!((axis.position(200.0) - 150.0).abs() < 1e-9);
        let labels: Vec<_> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["20", "50", "100", "200", "500", "1,000", "2,000"]);
    }

    #[test]
    fn a_long_axis_has_labels_at_powers_of_ten_only() {
        let axis = Axis::covering([1.0, 100_000.0].into_iter(), 0.0, 1.0);
        let labels: Vec<_> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1", "10", "100", "1,000", "10,000", "100,000"]);
    }

    #[test]
    fn an_axis_of_one_value_or_of_none_has_two_ends() {
        let ends = |values: &[f64]| {
            let axis = Axis::covering(values.iter().copied(), 0.0, 1.0);
            (axis.least, axis.most)
        };
        assert_eq!(ends(&[100.0]), (100.0, 200.0));
        assert_eq!(ends(&[16.5]), (10.0, 20.0));
        assert_eq!([ends(&[]), ends(&[0.0])], [(1.0, 2.0); 2]);
    }
}
