package column

const numPoints = 4

func (b *Builder) initMetrics() {}
