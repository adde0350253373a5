package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Labels that Prometheus and its operator add to every metric, or that only a histogram's buckets have.
var labelsOfOthers = []string{"job", "instance", "namespace", "pod", "container", "service", "endpoint"}

// What a dashboard's variables may stand for in a query.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$__interval", "1m", "$job", "isthmus", "$provider", ".*")

// metrics are the labels of each metric of the daemon, by the names that a query has for them.
type metrics map[string][]string

// row is one of the page's table: name, type and labels of a metric.
var row = regexp.MustCompile("^\\| `(\\w+)` \\| (counter|gauge|histogram)[^|]*\\| ([^|]*)\\|")

// knownMetrics reads the table of a page.
func knownMetrics(file string) (metrics, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	known := metrics{"up": nil}
	lines := bufio.NewScanner(opened)
	for lines.Scan() {
		fields := row.FindStringSubmatch(lines.Text())
		if fields == nil {
			continue
		}
		name := fields[1]
		ownLabels := strings.FieldsFunc(fields[3], func(character rune) bool { return strings.ContainsRune("`, ", character) })
		if fields[2] == "histogram" {
			known[name+"_bucket"] = append([]string{"le"}, ownLabels...)
			known[name+"_sum"] = ownLabels
			known[name+"_count"] = ownLabels
		} else {
			known[name] = ownLabels
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(known) == 1 {
		return nil, errors.New(file + " has no table of metrics")
	}
	return known, nil
}

// check adds what is wrong with a query.
func (known metrics) check(query, where string, found *faults) {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(query))
	if err != nil {
		found.add("%s: %q: %v", where, query, err)
		return
	}
	used := map[string]bool{}
	var allowed []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		own, ok := known[selector.Name]
		if !ok {
			found.add("%s: %q: the daemon has no metric %q", where, query, selector.Name)
		}
		used[selector.Name] = true
		allowed = append(allowed, own...)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName && !slices.Contains(own, matcher.Name) && !slices.Contains(labelsOfOthers, matcher.Name) {
				found.add("%s: %q: the metric %q has no label %q", where, query, selector.Name, matcher.Name)
			}
		}
		return nil
	})
	if len(used) == 0 {
		found.add("%s: %q: no metric is in it", where, query)
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		aggregation, ok := node.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		for _, label := range aggregation.Grouping {
			if !slices.Contains(allowed, label) && !slices.Contains(labelsOfOthers, label) {
				found.add("%s: %q: none of its metrics has the label %q", where, query, label)
			}
		}
		return nil
	})
}

// rule is what a test looks at.
type rule struct {
	Alert       string            `json:"alert"`
	Query       string            `json:"query"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(metricsFile, file string) (any, faults) {
	var found faults
	known, err := knownMetrics(metricsFile)
	if err != nil {
		return nil, faults{err.Error()}
	}
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		found.add("%v", err)
	}
	var rules []rule
	if groups != nil {
		for _, group := range groups.Groups {
			for _, read := range group.Rules {
				rules = append(rules, rule{read.Alert, read.Expr, read.Labels, read.Annotations})
				known.check(read.Expr, read.Alert, &found)
			}
		}
	}
	return rules, found
}

// panel is the part of a Grafana panel that has queries, and of a row, which has panels.
type panel struct {
	Title   string `json:"title"`
	Type    string `json:"type"`
	Targets []struct {
		Query string `json:"expr"`
	} `json:"targets"`
	Panels []panel `json:"panels"`
}

func dashboard(metricsFile, file string) (any, faults) {
	var found faults
	known, err := knownMetrics(metricsFile)
	if err != nil {
		return nil, faults{err.Error()}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, faults{err.Error()}
	}
	var read struct {
		Panels     []panel `json:"panels"`
		Templating struct {
			List []struct {
				Name  string `json:"name"`
				Query any    `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, faults{err.Error()}
	}
	queries := map[string][]string{}
	var visit func(panels []panel)
	visit = func(panels []panel) {
		for _, panel := range panels {
			for _, target := range panel.Targets {
				queries[panel.Title] = append(queries[panel.Title], target.Query)
				known.check(target.Query, panel.Title, &found)
			}
			if panel.Type != "row" && panel.Type != "text" && len(panel.Targets) == 0 {
				found.add("%s: the panel has no query", panel.Title)
			}
			visit(panel.Panels)
		}
	}
	visit(read.Panels)
	for _, variable := range read.Templating.List {
		query, ok := variable.Query.(string)
		if label, isValues := strings.CutPrefix(query, "label_values("); ok && isValues {
			metric, _, _ := strings.Cut(label, ",")
			known.check(strings.TrimSpace(metric), "variable "+variable.Name, &found)
		}
	}
	return queries, found
}
